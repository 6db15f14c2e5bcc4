#include "models/runtime/device_timing.h"

#include <algorithm>

#include "sim/trace/row_order.h"

namespace tandem {

namespace {

constexpr std::int64_t enough_samples = 12;
constexpr Duration longest_gap = microseconds(8);  // longer ones have another cause
constexpr Duration longest_latency = microseconds(12);
constexpr Duration longest_return = microseconds(30);
/// Between a launch and the end of what ran before: nearer, either may have come first.
constexpr Duration clearly_apart = microseconds(2);
/// A synchronize that begins no earlier before the end of all work had nothing to wait for.
constexpr Duration shortest_wait = microseconds(4);

/// The class that pools all kernels and calls.
GapClass any_kernel(GapClass c) {
  c.call = c.kernel = StringId{};
  return c;
}

}  // namespace

DeviceTiming::DeviceTiming(const Trace& trace, const Links& links, const HostModel& host)
    : trace_(trace),
      links_(links),
      host_(host),
      sync_return_(from_us(host.sync_return_us)),
      blocking_return_(from_us(host.blocking_return_us)) {
  read_gaps();
  read_returns();
}

GapClass DeviceTiming::classify(std::uint32_t previous, std::uint32_t next) const {
  const Activities& acts = trace_.activities;
  GapClass c;
  c.previous = acts.kind[previous];
  c.next = acts.kind[next];
  c.kernel = acts.name[next];
  const std::uint32_t call = links_.call_of_activity[next];
  if (call == no_row) {
    // The launch is not in the trace; nodes of one graph still share its correlation id.
    c.same_graph = acts.correlation[next] >= 0 && links_.call_of_activity[previous] == no_row &&
                   acts.correlation[next] == acts.correlation[previous];
    c.graph = c.same_graph;
    return c;
  }
  c.graph = trace_.calls.api[call] == ApiKind::launch_graph;
  c.same_graph = c.graph && links_.call_of_activity[previous] == call;
  c.call = trace_.calls.name[call];
  const TimePoint launched = end_of(trace_.calls, call);
  c.far_ahead = !c.graph && end_of(acts, previous) - launched > far_lead;
  return c;
}

void DeviceTiming::read_gaps() {
  const Activities& acts = trace_.activities;
  shared_gap_.assign(acts.size(), false);
  TimePoint device_free = TimePoint::min();  // end of all work that began earlier
  for (const std::uint32_t row : rows_by_begin(acts)) {
    const TimePoint free_before = device_free;
    device_free = std::max(device_free, end_of(acts, row));
    const std::uint32_t call = links_.call_of_activity[row];
    if (call == no_row) continue;
    const TimePoint launched = end_of(trace_.calls, call);
    const std::uint32_t previous = links_.stream_predecessor[row];
    // A gap in which other streams work may be theirs; it says nothing of this stream's own.
    shared_gap_[row] = previous != no_row && free_before > end_of(acts, previous);
    if (shared_gap_[row]) continue;
    const GapClass c = previous == no_row ? GapClass{} : classify(previous, row);
    const bool queued =
        previous != no_row && (c.same_graph || end_of(acts, previous) > launched + clearly_apart);
    if (queued) {
      const Duration gap = acts.begin[row] - end_of(acts, previous);
      if (gap >= longest_gap || gap <= -longest_gap) continue;
      gaps_[c].add(gap);
      gaps_[any_kernel(c)].add(gap);
    } else if (!c.graph && acts.begin[row] >= launched &&
               (previous == no_row || end_of(acts, previous) + clearly_apart < launched)) {
      const Duration latency = acts.begin[row] - launched;
      if (latency < longest_latency) latency_[static_cast<int>(acts.kind[row])].add(latency);
    }
  }
}

void DeviceTiming::read_returns() {
  // Calls that return a few microseconds after the device work they waited for.
  const RuntimeCalls& calls = trace_.calls;
  const Activities& acts = trace_.activities;
  Mean sync;
  Mean blocking;
  std::vector<TimePoint> ends(acts.size());
  for (std::uint32_t row = 0; row < acts.size(); ++row) ends[row] = end_of(acts, row);
  std::sort(ends.begin(), ends.end());
  for (const std::uint32_t call : links_.calls_in_order) {
    const TimePoint begin = calls.begin[call];
    const TimePoint end = begin + calls.duration[call];
    if (calls.api[call] == ApiKind::launch_kernel) {
      for (const std::uint32_t act : links_.activities_of_call.of(call)) {
        const Duration back = end - end_of(acts, act);
        if (back > Duration::zero() && back < longest_latency) blocking.add(back);
      }
    } else if (calls.api[call] == ApiKind::stream_synchronize ||
               calls.api[call] == ApiKind::device_synchronize) {
      auto it = std::upper_bound(ends.begin(), ends.end(), end);
      if (it == ends.begin() || *--it < begin + shortest_wait) continue;
      if (end - *it < longest_return) sync.add(end - *it);
    }
  }
  if (sync.n >= 2) sync_return_ = sync.value();
  if (blocking.n >= enough_samples) {
    blocking_return_ = blocking.value();
  }
}

Duration DeviceTiming::default_gap(const GapClass& c) const {
  const bool kernels = c.previous == ActivityKind::kernel && c.next == ActivityKind::kernel;
  const bool memset = c.previous == ActivityKind::memset || c.next == ActivityKind::memset;
  if (c.same_graph) return from_us(memset ? host_.graph_memset_gap_us : host_.graph_node_gap_us);
  if (c.graph) return from_us(host_.graph_launch_gap_us);
  if (!kernels) return from_us(host_.memset_gap_us);
  return from_us(c.far_ahead ? host_.kernel_gap_far_us : host_.kernel_gap_near_us);
}

Duration DeviceTiming::gap(const GapClass& c) const {
  const auto mean_of = [&](const GapClass& wanted) {
    const auto it = gaps_.find(wanted);
    return it == gaps_.end() ? Mean{} : it->second;
  };
  const Mean own = mean_of(c);
  if (own.n >= enough_samples) return own.value();
  const Mean same_lead = mean_of(any_kernel(c));
  if (same_lead.n >= enough_samples) return same_lead.value();
  GapClass flipped = c;
  flipped.far_ahead = !c.far_ahead;
  const Mean other_lead = mean_of(any_kernel(flipped));
  if (other_lead.n >= enough_samples) {  // corrected by the typical difference between the leads
    return other_lead.value() + default_gap(c) - default_gap(flipped);
  }
  // A trace holds few graph launches; any of them beats the default.
  if (c.graph && !c.same_graph && same_lead.n > 0) return same_lead.value();
  return default_gap(c);
}

DeviceTiming::Gap DeviceTiming::gap(std::uint32_t previous, std::uint32_t next) const {
  GapClass c = classify(previous, next);
  const Duration measured = trace_.activities.begin[next] - end_of(trace_.activities, previous);
  if (shared_gap_[next] && measured > -longest_gap && measured < gap(c) + unexplained_delay) {
    return {measured, measured, measured};
  }
  const bool far = c.far_ahead;
  c.far_ahead = false;
  const Duration near_gap = gap(c);
  c.far_ahead = true;
  const Duration far_gap = gap(c);
  return {near_gap, far_gap, far ? far_gap : near_gap};
}

Duration DeviceTiming::latency(ActivityKind kind) const {
  const Mean& own = latency_[static_cast<int>(kind)];
  if (own.n >= enough_samples) return own.value();
  const Mean& kernel = latency_[static_cast<int>(ActivityKind::kernel)];
  if (kernel.n >= enough_samples) return kernel.value();
  return from_us(host_.launch_latency_us);
}

}  // namespace tandem
