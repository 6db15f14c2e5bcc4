#include "models/whatif/ranks/data_parallel.h"

#include <algorithm>
#include <utility>

#include "models/collective/collective_time.h"
#include "models/kernel/time/kernel_time.h"
#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

namespace {

/// Names of PyTorch's operations, as its profiler writes them.
constexpr std::string_view hook_op = "torch::distributed::reducer::mul_out";
constexpr std::string_view reduce_op = "c10d::allreduce_";
constexpr std::string_view finish_op = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
constexpr std::string_view flatten_op = "aten::flatten_dense_tensors";
constexpr std::string_view broadcast_op = "c10d::broadcast_";
constexpr std::string_view unflatten_op = "aten::copy_";

/// A gradient that reaches its parameter.
struct Gradient {
  std::uint32_t work = 0;  // the last launched before
  double bytes = 0;
  std::int64_t elements = 0;
};

/// The works of the plan by the begin of their call, per thread.
class LaunchOrder {
 public:
  explicit LaunchOrder(const Step& step) : by_thread_(step.trace.threads.size()) {
    for (const HostItem& item : step.plan.items) {
      if (item.source == no_index || item.work_count == 0) continue;
      const std::uint32_t last = item.first_work + item.work_count - 1;
      by_thread_[step.trace.calls.thread[item.source].index()].emplace_back(
          step.trace.calls.begin[item.source], last);
    }
    for (auto& list : by_thread_) std::sort(list.begin(), list.end());
  }
  /// The last work that `thread` launched before `at`, or none.
  std::uint32_t before(ThreadId thread, TimePoint at) const {
    const auto& list = by_thread_[thread.index()];
    const auto it = std::partition_point(list.begin(), list.end(),
                                         [&](const auto& one) { return one.first < at; });
    return it == list.begin() ? no_index : std::prev(it)->second;
  }

 private:
  std::vector<std::vector<std::pair<TimePoint, std::uint32_t>>> by_thread_;
};

/// In the order in which they are ready.
std::vector<Gradient> gradients_of(const Step& step, const OpNesting& nesting, OpRows& rows) {
  const Trace& trace = step.trace;
  const LaunchOrder launches(step);
  std::vector<std::pair<TimePoint, Gradient>> found;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (!rows.of(op).is(stores_gradients) || !trace.ops.thread[op].valid()) continue;
    const OpTensors& tensors = operands_of(trace, op).tensors;
    const std::uint32_t parent = nesting.parent[op];
    // The engine's range around the node has no operands.
    if (tensors.shapes.empty() || (parent != no_row && rows.of(parent).kind == OpKind::collective))
      continue;
    const TimePoint end = trace.ops.begin[op] + trace.ops.duration[op];
    const std::uint32_t work = launches.before(trace.ops.thread[op], end);
    if (work == no_index) continue;
    const TensorShape& shape = tensors.shapes.front();
    const int recorded = element_bytes(shape.type);
    const int width = recorded > 0 ? recorded : element_bytes(DataType::fp32);
    found.push_back({end, {work, static_cast<double>(shape.elements()) * width, shape.elements()}});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Gradient> out;
  for (const auto& [end, gradient] : found) out.push_back(gradient);
  return out;
}

/// A bucket is full when it holds at least its limit.
std::vector<std::size_t> bucket_ends(const std::vector<Gradient>& gradients,
                                     const CollectiveLaw& law) {
  std::vector<std::size_t> ends;
  double bytes = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    bytes += gradients[i].bytes;
    const double limit = ends.empty() ? law.first_bucket_bytes : law.bucket_bytes;
    if (bytes < limit && i + 1 < gradients.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  return ends;
}

/// Channels of each batch norm that keeps statistics.
std::vector<std::int64_t> tracked_channels(const Step& step, const OpNesting& nesting,
                                           OpRows& rows) {
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

class Insertions {
 public:
  Insertions(StepEdit& edit, const DataParallelOptions& o)
      : edit_(edit), o_(o), host_(added_host(edit.step(), o.host)) {}

  NewKernel copy(std::string_view op, double bytes, double host_ratio) const {
    NewKernel k;
    k.kernel = o_.names.kernel(LibraryUse::copy_on_device);
    k.op = op;
    TimedLaunch move;
    move.law = TimeLaw::memory;
    move.bytes = 2 * bytes;
    k.duration_us = kernel_time(move, o_.gpu, o_.time).time_us;
    k.host_us = host_.us(host_ratio);
    return k;
  }
  NewKernel collective(std::string_view op, CollectiveKind kind, double bytes) {
    NewKernel k;
    const bool sum = kind == CollectiveKind::all_reduce;
    k.kernel = o_.names.kernel(sum ? LibraryUse::all_reduce : LibraryUse::broadcast);
    k.op = op;
    Collective c;
    c.kind = kind;
    c.in_bytes = c.out_bytes = static_cast<std::int64_t>(bytes);
    c.ranks = o_.ranks;
    const CollectiveTime time = collective_time(o_.gpu, o_.law, c, o_.ranks);
    k.duration_us = time.us;
    k.host_us = host_.us(o_.law.bucket_host_ratio);
    const auto blocks = static_cast<std::uint32_t>(o_.law.ring_blocks);
    k.geometry = {{blocks, 1, 1}, {544, 1, 1}, 96, 103808};
    messages.push_back(c);
    return k;
  }
  std::vector<Collective> messages;  // of the collectives, in order

 private:
  StepEdit& edit_;
  const DataParallelOptions& o_;
  AddedHost host_;
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

/// Puts the new collectives on a stream of their own, behind what they send and before what reads
/// them.
class OwnStream {
 public:
  OwnStream(Step& step, const HostModel& host)
      : step_(step),
        delay_(from_us(host.event_latency_us)),
        gap_(from_us(host.kernel_gap_near_us)) {
    stream_ = StreamId(step.trace.streams.size());
    Stream stream = step.trace.streams.empty() ? Stream{} : step.trace.streams.front();
    for (const Stream& s : step.trace.streams) stream.stream = std::max(stream.stream, s.stream);
    ++stream.stream;
    step.trace.streams.push_back(stream);
    step.plan.streams.push_back("collectives");
  }

  void move(std::uint32_t work, const Collective& message) {
    DeviceWork& w = step_.plan.works[work];
    const std::uint32_t sent = before_on_stream(work);
    w.stream = static_cast<std::uint16_t>(stream_.value);
    w.engine = DeviceEngine::collective;
    w.gap = w.far_gap = gap_;
    w.pool_wait = w.pool_latency = Duration::zero();
    w.edge_count = 0;
    if (sent != no_index) wait_for(work, sent);
    step_.trace.activities.stream[w.source] = stream_;
    set_collective(step_.trace, w.source, message, 1);
  }
  void wait_for(std::uint32_t work, std::uint32_t awaited) {
    DeviceWork& w = step_.plan.works[work];
    const auto first = static_cast<std::uint32_t>(step_.plan.edges.size());
    for (std::uint32_t e = 0; e < w.edge_count; ++e) {
      step_.plan.edges.push_back(step_.plan.edges[w.first_edge + e]);
    }
    step_.plan.edges.push_back({awaited, delay_});
    w.first_edge = first;
    ++w.edge_count;
  }

 private:
  std::uint32_t before_on_stream(std::uint32_t work) const {
    const std::uint16_t stream = step_.plan.works[work].stream;
    for (std::uint32_t w = work; w-- > 0;) {
      if (step_.plan.works[w].stream == stream) return w;
    }
    return no_index;
  }

  Step& step_;
  Duration delay_;
  Duration gap_;
  StreamId stream_;
};

/// The collectives of `step` wait for the copy before them. The copies behind the last broadcast
/// wait for the broadcasts, the first copy back of each bucket for its sum.
void connect(const std::vector<Collective>& messages, const std::vector<std::size_t>& bucket_ends,
             const HostModel& host, Step& step) {
  OwnStream own(step, host);
  const std::size_t broadcasts = messages.size() - bucket_ends.size();
  std::vector<std::uint32_t> sums;
  std::size_t next = 0;
  std::size_t copied_back = 0;
  std::uint32_t sent = no_index;  // the last broadcast, until something reads it
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const std::uint32_t source = step.plan.works[w].source;
    if (step.traced_activity[source] != no_row) continue;
    if (step.kernels.of(source).family == KernelFamily::collective) {
      own.move(w, messages[next++]);
      if (next <= broadcasts) sent = w;
      if (next > broadcasts) sums.push_back(w);
      continue;
    }
    if (next == broadcasts && sent != no_index) own.wait_for(w, std::exchange(sent, no_index));
    if (next < messages.size()) continue;
    const auto bucket = static_cast<std::size_t>(
        std::upper_bound(bucket_ends.begin(), bucket_ends.end(), copied_back) -
        bucket_ends.begin());
    const bool first = copied_back == (bucket == 0 ? 0 : bucket_ends[bucket - 1]);
    if (first && bucket < sums.size()) own.wait_for(w, sums[bucket]);
    ++copied_back;
  }
  step.links = link_trace(step.trace);
}

}  // namespace

Step with_data_parallel(Step step, const DataParallelOptions& o, DataParallelReport& report) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  OpRows rows(step.trace);
  const std::vector<Gradient> gradients = gradients_of(step, nesting, rows);
  if (gradients.empty()) {
    throw InputError(step.trace.path, "--ranks", "no gradient whose shape was recorded",
                     "a step of training, of a network or of a trace with record_shapes=True, or a "
                     "trace of several ranks");
  }
  const std::vector<std::int64_t> channels = tracked_channels(step, nesting, rows);
  const std::vector<std::size_t> ends = bucket_ends(gradients, o.law);
  const std::uint32_t last = gradients.back().work;
  StepEdit edit(std::move(step), o.host.launch_call_us);
  Insertions make(edit, o);
  report.buffers = add_buffers(channels, 0, o.law, make, edit);
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
    edit.insert_after(last, make.copy(finish_op, g.bytes, o.law.finish_host_ratio));
  }
  report.parameters = static_cast<std::int64_t>(gradients.size());
  report.buckets = static_cast<std::int64_t>(ends.size());
  Step out = std::move(edit).finish();
  out.trace.distributed.world_size = o.ranks;
  connect(make.messages, ends, o.host, out);
  return out;
}

}  // namespace tandem
