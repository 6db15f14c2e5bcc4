#include "models/whatif/passes/traced_passes.h"

#include <algorithm>

#include "models/ops/op_table.h"

namespace tandem {

namespace {

struct TimeSpan {
  TimePoint begin, end;
};

/// Annotations of an optimizer that begin in a time, in order.
std::vector<TimeSpan> optimizer_times(const Trace& trace, TimePoint from, TimePoint until) {
  std::vector<TimeSpan> out;
  const Annotations& notes = trace.annotations;
  for (std::uint32_t n = 0; n < notes.size(); ++n) {
    const TimePoint begin = notes.begin[n];
    if (begin < from || begin >= until) continue;
    if (op_row(text_of(trace, notes.name[n])).layer != Layer::optimizer) continue;
    out.push_back({begin, end_of(notes, n)});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return out;
}

/// The first forward operation of the program: what comes before it copies the input.
TimePoint begin_of_program(const Trace& trace, ThreadId program) {
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  TimePoint first = TimePoint::max();
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.ops.thread[op] == program && !in_optimizer[op]) {
      first = std::min(first, trace.ops.begin[op]);
    }
  }
  return first;
}

/// Whether an operation belongs to the backward pass, whatever thread runs it.
bool is_of_gradients(const Trace& trace, std::uint32_t op) {
  const std::string_view name = text_of(trace, trace.ops.name[op]);
  return has_engine_prefix(name) || is_backward_node(name) || op_row(name).is(stores_gradients);
}

/// Behind the last gradient of a pass other nodes store gradients without any device work, until
/// the program goes on.
TimePoint end_of_gradients(const Trace& trace, std::uint32_t last_root, ThreadId program) {
  const HostOps& ops = trace.ops;
  const ThreadId thread = ops.thread[last_root];
  TimePoint until = end_of(ops, last_root);
  TimePoint next = TimePoint::max();
  for (std::uint32_t op = 0; op < ops.size(); ++op) {
    if (ops.thread[op] != program || ops.begin[op] < until) continue;
    if (!is_of_gradients(trace, op)) next = std::min(next, ops.begin[op]);
  }
  for (const TimeSpan& update : optimizer_times(trace, until, next)) {
    next = std::min(next, update.begin);
  }
  for (std::uint32_t op = 0; op < ops.size(); ++op) {
    if (ops.thread[op] == thread && ops.begin[op] < next) until = std::max(until, end_of(ops, op));
  }
  return std::min(until, next);
}

}  // namespace

std::vector<TracedPass> traced_passes(const Step& step, const Dataflow& flow) {
  const Trace& trace = step.trace;
  const auto first = std::find_if(flow.ops.begin(), flow.ops.end(),
                                  [](const FlowOp& op) { return op.phase == FlowPhase::forward; });
  if (first == flow.ops.end() || !flow.trains()) return {};
  const ThreadId program = trace.ops.thread[first->op];
  std::vector<std::uint32_t> last(flow.passes(), no_row);  // backward root
  for (const FlowOp& op : flow.ops) {
    if (op.phase == FlowPhase::backward) last[op.pass] = outermost(flow.nesting, op.op);
  }
  std::vector<TracedPass> out;
  TimePoint from = begin_of_program(trace, program);
  for (const std::uint32_t root : last) {
    if (root == no_row) continue;
    const TimePoint until = end_of_gradients(trace, root, program);
    out.push_back({from, until, program});
    from = until;
  }
  return out;
}

std::vector<HostPart> parts_of(const Step& step, const TracedPass& pass) {
  std::vector<HostPart> out;
  const auto add = [&](TimePoint from, TimePoint until) {
    if (from >= until) return;
    HostPart part;
    part.first = first_item_from(step, from);
    part.end = first_item_from(step, until);
    part.from = from;
    part.until = until;
    out.push_back(part);
  };
  TimePoint from = pass.from;
  for (const TimeSpan& update : optimizer_times(step.trace, pass.from, pass.until)) {
    add(from, update.begin);
    from = std::max(from, update.end);
  }
  add(from, pass.until);
  return out;
}

Duration outside_optimizer(const Trace& trace, TimePoint from, TimePoint until) {
  Duration out = std::max(until - from, Duration::zero());
  for (const TimeSpan& update : optimizer_times(trace, from, until)) {
    out -= std::min(update.end, until) - update.begin;
  }
  return std::max(out, Duration::zero());
}

}  // namespace tandem
