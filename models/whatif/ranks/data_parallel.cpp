#include "models/whatif/ranks/data_parallel.h"

#include <algorithm>
#include <utility>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/added_stream.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/compiled_host.h"
#include "models/whatif/edit/gradients.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/ranks/bucket_cuts.h"

namespace tandem {

namespace {

/// Names of PyTorch's operations, as its profiler writes them.
constexpr std::string_view hook_op = "torch::distributed::reducer::mul_out";
constexpr std::string_view reduce_op = "c10d::allreduce_";
constexpr std::string_view finish_op = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
constexpr std::string_view flatten_op = "aten::flatten_dense_tensors";
constexpr std::string_view broadcast_op = "c10d::broadcast_";
constexpr std::string_view unflatten_op = "aten::copy_";

/// Channels of each batch norm that keeps statistics.
std::vector<std::int64_t> tracked_channels(const Step& step, const OpNesting& nesting) {
  OpRows rows(step.trace);
  std::vector<std::int64_t> channels;
  for (std::uint32_t op = 0; op < step.trace.ops.size(); ++op) {
    const std::uint32_t parent = nesting.parent[op];
    if (rows.of(op).kind != OpKind::batch_norm || rows.of(op).backward) continue;
    if (parent != no_row && rows.of(parent).kind == OpKind::batch_norm) continue;
    const OpTensors& tensors = operands_of(step.trace, op).tensors;
    if (tensors.shapes.size() >= 4) channels.push_back(tensors.shapes[3].elements());
  }
  return channels;
}

/// Puts copies and collectives into a step.
class Insertions {
 public:
  Insertions(StepEdit& edit, const RanksOptions& o) : kernels_(edit.step(), o), o_(o) {}

  NewKernel copy(std::string_view op, double bytes, double host_ratio) const {
    return kernels_.copy(op, bytes, kernels_.host().us(host_ratio));
  }
  NewKernel collective(std::string_view op, CollectiveKind kind, double bytes) {
    Collective c;
    c.kind = kind;
    c.in_bytes = c.out_bytes = static_cast<std::int64_t>(bytes);
    c.ranks = o_.ranks;
    messages.push_back(c);
    return kernels_.collective(op, c, kernels_.host().us(o_.law.bucket_host_ratio));
  }
  std::vector<Collective> messages;  // of the collectives, in order

 private:
  RankKernels kernels_;
  const RanksOptions& o_;
};

/// Buffers of batch norm, by type: packed, sent, unpacked.
std::int64_t add_buffers(const std::vector<std::int64_t>& channels, std::uint32_t first_work,
                         const CollectiveLaw& law, Insertions& make, StepEdit& edit) {
  if (channels.empty()) return 0;
  constexpr double mean_and_variance = 2 * 4.0;  // bytes a channel, FP32
  constexpr double counter = 8.0;                // INT64
  double floats = 0;
  for (const std::int64_t c : channels) floats += mean_and_variance * static_cast<double>(c);
  const double count = static_cast<double>(channels.size());
  for (const auto& [bytes, buffers] :
       {std::pair{floats, 2 * count}, std::pair{counter * count, count}}) {
    edit.insert_before(first_work, make.copy(flatten_op, bytes, law.flatten_host_ratio * buffers));
    edit.insert_before(first_work, make.collective(broadcast_op, CollectiveKind::broadcast, bytes));
  }
  std::int64_t buffers = 0;
  for (const std::int64_t c : channels) {
    for (const double bytes :
         {4.0 * static_cast<double>(c), 4.0 * static_cast<double>(c), counter}) {
      edit.insert_before(first_work, make.copy(unflatten_op, bytes, law.buffer_host_ratio));
      ++buffers;
    }
  }
  return buffers;
}

/// The collectives of `step` wait for the copy before them. The copies behind the last broadcast
/// wait for the broadcasts, the first copy back of each bucket for its sum.
void connect(const std::vector<Collective>& messages, const std::vector<std::size_t>& bucket_ends,
             const HostModel& host, Step& step) {
  AddedStream stream(step, host, "collectives");
  const Duration delay = from_us(host.event_latency_us);
  const auto wait = [&](std::uint32_t work, std::uint32_t awaited) {
    wait_for({awaited, delay}, work, step.plan);
  };
  const std::size_t broadcasts = messages.size() - bucket_ends.size();
  std::vector<std::uint32_t> sums;
  std::size_t next = 0;
  std::size_t copied_back = 0;
  std::uint32_t sent = no_index;  // the last broadcast, until something reads it
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const std::uint32_t source = step.plan.works[w].source;
    if (step.traced_activity[source] != no_row) continue;
    if (step.kernels.of(source).family == KernelFamily::collective) {
      const std::uint32_t sent_copy = before_on_stream(step.plan, w);
      stream.take(w, messages[next++]);
      if (sent_copy != no_index) wait(w, sent_copy);
      if (next <= broadcasts) sent = w;
      if (next > broadcasts) sums.push_back(w);
      continue;
    }
    if (next == broadcasts && sent != no_index) wait(w, std::exchange(sent, no_index));
    if (next < messages.size()) continue;
    const auto bucket = static_cast<std::size_t>(
        std::upper_bound(bucket_ends.begin(), bucket_ends.end(), copied_back) -
        bucket_ends.begin());
    const bool first = copied_back == (bucket == 0 ? 0 : bucket_ends[bucket - 1]);
    if (first && bucket < sums.size()) wait(w, sums[bucket]);
    ++copied_back;
  }
  step.links = link_trace(step.trace);
}

/// Host time of the graphs that are entered besides.
void enter_graphs(const std::vector<std::uint32_t>& items, const RanksOptions& o, StepEdit& edit) {
  const CompiledHost host(o.compiled, edit.step(), o.host, false, true);
  const Duration entry = from_us(host.work_us(o.compiled.region_host_us));
  for (const std::uint32_t item : items) {
    edit.set_gap(item, edit.step().plan.items[item].gap + entry);
  }
}

/// Copies of the gradients into their buckets, the sums, and the copies back behind the last.
/// Where buckets end.
std::vector<std::size_t> add_buckets(const std::vector<Gradient>& gradients, const RanksOptions& o,
                                     Insertions& make, StepEdit& edit, DataParallelReport& report) {
  const auto ends = bucket_ends(gradients, o.law.buckets());
  double bucket = 0;
  for (std::size_t i = 0, b = 0; i < gradients.size(); ++i) {
    edit.insert_after(gradients[i].work,
                      make.copy(hook_op, gradients[i].bytes, o.law.hook_host_ratio));
    bucket += gradients[i].bytes;
    report.gradient_bytes += gradients[i].bytes;
    if (i + 1 != ends[b]) continue;
    ++b;
    edit.insert_after(gradients[i].work,
                      make.collective(reduce_op, CollectiveKind::all_reduce, bucket));
    bucket = 0;
  }
  for (const Gradient& g : gradients) {
    edit.insert_after(gradients.back().work,
                      make.copy(finish_op, g.bytes, o.law.finish_host_ratio));
  }
  report.parameters = static_cast<std::int64_t>(gradients.size());
  report.buckets = static_cast<std::int64_t>(ends.size());
  return ends;
}

}  // namespace

Step with_data_parallel(Step step, const RanksOptions& o, DataParallelReport& report) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  // Ranks sum what all passes have added up (DistributedDataParallel.no_sync around the others).
  std::vector<Gradient> gradients = last_gradients_of(step, nesting);
  if (gradients.empty()) {
    throw InputError(step.trace.path, "--ranks", "no gradient whose shape was recorded",
                     "a step of training, of a network or of a trace with record_shapes=True, or a "
                     "trace of several ranks");
  }
  const std::vector<GraphCall> calls = graph_calls(step, nesting);
  std::vector<std::int64_t> channels = tracked_channels(step, nesting);
  if (channels.empty()) channels = tracked_by_graphs(step, calls, gradients);
  const auto entries = cut_at_buckets(step, calls, o.law.buckets(), gradients);
  StepEdit edit(std::move(step), o.host.launch_call_us);
  enter_graphs(entries, o, edit);
  Insertions make(edit, o);
  report.buffers = add_buffers(channels, 0, o.law, make, edit);
  report.graphs = static_cast<std::int64_t>(entries.size());
  const std::vector<std::size_t> ends = add_buckets(gradients, o, make, edit, report);
  Step out = std::move(edit).finish();
  out.trace.distributed.world_size = o.ranks;
  connect(make.messages, ends, o.host, out);
  return out;
}

}  // namespace tandem
