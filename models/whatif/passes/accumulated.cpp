#include "models/whatif/passes/accumulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/kernel/time/kernel_time.h"
#include "models/step/memory/trained_parameters.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/gradients.h"
#include "models/whatif/edit/launch_order.h"
#include "models/whatif/edit/rearranged.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/passes/traced_passes.h"
#include "sim/core/bounds/step_size.h"
#include "sim/core/median.h"

namespace tandem {

namespace {

/// Name of PyTorch's operation, as its profiler writes it.
constexpr std::string_view add_op = "aten::add_";

[[noreturn]] void refuse(const Step& step, const std::string& found, const std::string& expected) {
  throw InputError(step.trace.path, "--passes", found, expected);
}

/// Errors: InputError for what cannot be repeated.
void check_step(const Step& step, const Dataflow& flow, const std::vector<TracedPass>& passes) {
  if (passes.empty()) refuse(step, "no backward pass", "a step of training");
  check_eager(step, flow, "--passes");
  if (updates_rows(step.trace)) refuse(step, "sparse gradients of tables", "dense ones");
  const TrainedParameters trained(step.trace, step.links.steps.back());
  if (trained.empty()) {
    refuse(step, "no gradient whose shape was recorded", "a trace with record_shapes=True");
  }
  const std::int64_t told = trained.passes();
  if (told != static_cast<std::int64_t>(passes.size())) {
    refuse(step,
           fmt::format("{} backward passes, of which {} add up to one update", passes.size(), told),
           "one update of the optimizer by the gradients of all of them");
  }
}

/// The step's own parts around what comes or goes at `at`.
HostPart up_to(const Step& step, TimePoint at) {
  return {.first = 0, .end = first_item_from(step, at), .until = at};
}
HostPart from_there(const Step& step, TimePoint at) {
  return {.first = first_item_from(step, at),
          .end = static_cast<std::uint32_t>(step.plan.items.size()),
          .from = at};
}

/// Host time before the first call of the last pass that its program takes again.
Duration gap_of_repeated(const Step& step, const TracedPass& pass, std::uint32_t item) {
  const HostItem& first = step.plan.items[item];
  if (first.after != no_index || first.source == no_index) return first.gap;
  const TimePoint begin = step.trace.calls.begin[first.source];
  TimePoint before = step.links.steps.back().begin;
  for (std::uint32_t i = 0; i < item; ++i) {
    const std::uint32_t call = step.plan.items[i].source;
    if (call != no_index && step.trace.calls.thread[call] == pass.program) {
      before = end_of(step.trace.calls, call);
    }
  }
  if (before >= begin) return first.gap;
  const double share = to_us(outside_optimizer(step.trace, before, begin)) / to_us(begin - before);
  return first.input + scale(first.gap - first.input, share);
}

/// The last pass `times` more, each of which begins when the one before has its gradients.
Rearranged repeated(const Step& step, const TracedPass& pass, std::int64_t times) {
  std::vector<HostPart> parts{up_to(step, pass.until)};
  const std::vector<HostPart> again = parts_of(step, pass);
  for (std::int64_t k = 1; k <= times; ++k) {
    for (HostPart part : again) {
      part.copy = static_cast<std::uint32_t>(k);
      part.makes_anew = true;
      parts.push_back(part);
    }
  }
  parts.push_back(from_there(step, pass.until));
  Rearranged out = rearranged(step, parts);
  const std::uint32_t begins =
      first_of_thread(step, pass.program, again.front().first, again.back().end);
  if (begins == no_index) return out;
  const Duration gap = gap_of_repeated(step, pass, begins);
  for (std::size_t p = 1; p + 1 < parts.size(); p += again.size()) {
    const std::uint32_t first = first_of_thread(out.step, pass.program, out.first_item[p],
                                                out.end_item[p + again.size() - 1]);
    if (first == no_index || out.first_item[p] == 0) continue;
    HostItem& item = out.step.plan.items[first];
    item.after = out.first_item[p] - 1;
    item.gap = gap;
    item.bare = std::min(item.bare, gap - std::min(gap, item.input));
  }
  return out;
}

/// A node that stores a gradient which is to be added to the one that is there.
struct GradientStore {
  std::uint32_t op = 0;              // row of the node
  std::uint32_t before = no_index;   // the last work launched before it
  std::vector<std::uint32_t> works;  // its own: copies into new memory
  TensorShape shape;
  double child_us = 0;  // host time of what it does instead of adding
};

/// Those of the copies, whose traced time `copies` holds.
std::vector<GradientStore> stores_of(const Step& step, TimePoint from, TimePoint until) {
  const Trace& trace = step.trace;
  OpRows rows(trace);
  const LaunchOrder launches(step);
  const OpNesting nesting = nest_ops(trace, step.links);
  std::vector<GradientStore> out;
  std::unordered_map<std::uint32_t, std::size_t> at;  // by row
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (!rows.of(op).is(stores_gradients) || !trace.ops.thread[op].valid()) continue;
    if (trace.ops.begin[op] < from || trace.ops.begin[op] >= until) continue;
    const OpTensors& tensors = operands_of(trace, op).tensors;
    if (tensors.shapes.empty()) continue;  // the engine's range around the node
    GradientStore store;
    store.op = op;
    store.before = launches.before(trace.ops.thread[op], trace.ops.begin[op]);
    store.shape = tensors.shapes.front();
    if (store.shape.type == DataType::unknown) store.shape.type = DataType::fp32;
    if (store.before == no_index) continue;
    at.emplace(op, out.size());
    out.push_back(store);
  }
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const auto store = at.find(nesting.parent[op]);
    if (store != at.end()) out[store->second].child_us += to_us(trace.ops.duration[op]);
  }
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    std::uint32_t op = nesting.of_activity[step.plan.works[w].source];
    while (op != no_row && at.count(op) == 0) op = nesting.parent[op];
    if (op != no_row) out[at.at(op)].works.push_back(w);
  }
  std::sort(out.begin(), out.end(), [&](const GradientStore& a, const GradientStore& b) {
    return trace.ops.begin[a.op] < trace.ops.begin[b.op];
  });
  return out;
}

/// Host time of an operation on elements one by one, its launch call excluded, in launch calls: of
/// those of the trace, which adding is one of.
double pointwise_host_ratio(const Step& step, const AddedHost& host) {
  const Trace& trace = step.trace;
  const OpNesting nesting = nest_ops(trace, step.links);
  OpRows rows(trace);
  std::vector<Duration> times;
  for (const DeviceWork& work : step.plan.works) {
    const std::uint32_t op = nesting.of_activity[work.source];
    const std::uint32_t call = step.links.call_of_activity[work.source];
    if (op == no_row || call == no_row || is_added(trace.ops.external_id[op])) continue;
    if (rows.of(op).kind != OpKind::pointwise) continue;
    times.push_back(
        std::max(trace.ops.duration[op] - trace.calls.duration[call], Duration::zero()));
  }
  if (times.empty() || host.traced_call_us <= 0) return 1;
  return to_us(median(std::move(times))) / host.traced_call_us;
}

NewKernel adding(const GradientStore& store, const PassesOptions& o, const AddedHost& host,
                 double host_ratio) {
  constexpr double elements_of_block = 1024;  // ATen, CUDALoops.cuh: 128 threads, eight each
  const double elements = static_cast<double>(store.shape.elements());
  NewKernel k;
  k.kernel = o.names.kernel(LibraryUse::gradient_add, store.shape.type);
  k.op = add_op;
  k.operands.has_shapes = true;
  TensorShape there = store.shape;
  there.memory = {};
  k.operands.tensors.add(k.operands.argument_count++, there);
  k.operands.tensors.add(k.operands.argument_count++, store.shape);
  k.geometry = flat_geometry(elements / elements_of_block, 128);
  TimedLaunch add;
  add.law = TimeLaw::memory;
  add.bytes = 3 * elements * element_bytes(store.shape.type);
  k.duration_us = kernel_time(add, o.gpu, o.time).time_us;
  const double child = host.traced_call_us > 0 ? store.child_us / host.traced_call_us : 0;
  k.host_us = host.us(std::max(0.0, host_ratio - child));
  return k;
}

/// Rows of an added operation lie where its node does.
void move_into_nodes(const std::vector<GradientStore>& stores, const std::vector<TimePoint>& begins,
                     const std::vector<std::uint32_t>& works, Step& step) {
  Trace& trace = step.trace;
  std::unordered_map<std::int64_t, std::uint32_t> added;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (is_added(trace.ops.external_id[op])) added.emplace(trace.ops.external_id[op], op);
  }
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const std::uint32_t call = step.links.call_of_activity[step.plan.works[works[i]].source];
    if (call == no_row) continue;
    const auto op = added.find(trace.calls.external_id[call]);
    trace.calls.begin[call] = begins[i] + picoseconds(2);
    if (op != added.end()) trace.ops.begin[op->second] = begins[i] + picoseconds(1);
  }
  step.links = link_trace(trace);
}

/// From the second pass on gradients are added to those that are there.
Step with_sums(Rearranged passes, TimePoint from, TimePoint until, const PassesOptions& o,
               PassesReport& report) {
  const AddedHost host = added_host(passes.step, o.host);
  const double ratio = pointwise_host_ratio(passes.step, host);
  const std::vector<GradientStore> stores = stores_of(passes.step, from, until);
  std::vector<TimePoint> begins;
  for (const GradientStore& store : stores) {
    begins.push_back(passes.step.trace.ops.begin[store.op]);
  }
  StepEdit edit(std::move(passes.step), o.host.launch_call_us);
  for (const GradientStore& store : stores) {
    for (const std::uint32_t work : store.works) edit.drop(work, true);
    NewKernel add = adding(store, o, host, ratio);
    report.added_us += add.duration_us;
    edit.insert_after(store.before, std::move(add));
  }
  report.added = static_cast<std::int64_t>(stores.size());
  std::vector<std::uint32_t> works;
  Step out = std::move(edit).finish(&works);
  move_into_nodes(stores, begins, works, out);
  return out;
}

}  // namespace

Step with_passes(Step step, const PassesOptions& o, PassesReport& report) {
  const Dataflow flow = dataflow(step);
  const std::vector<TracedPass> passes = traced_passes(step, flow);
  check_step(step, flow, passes);
  report.from = static_cast<std::int64_t>(passes.size());
  if (o.passes == report.from) return step;
  if (o.passes < report.from) {
    const TimePoint stays = passes[static_cast<std::size_t>(o.passes) - 1].until;
    const HostPart parts[] = {up_to(step, stays), from_there(step, passes.back().until)};
    return rearranged(step, parts).step;
  }
  const std::int64_t times = o.passes - report.from;
  const double works = static_cast<double>(step.plan.works.size());
  if (static_cast<double>(o.passes) / static_cast<double>(report.from) * works >
      static_cast<double>(limits::step_works)) {
    refuse(step,
           fmt::format("{} passes in place of those of a step of {} kernels and copies", o.passes,
                       step.plan.works.size()),
           fmt::format("a step of at most {}", limits::step_works));
  }
  Rearranged more = repeated(step, passes.back(), times);
  const TimePoint from = passes.back().until;
  const TimePoint until = from + more.shift.back();
  if (report.from > 1) return std::move(more.step);  // the copied pass adds already
  return with_sums(std::move(more), from, until, o, report);
}

}  // namespace tandem
