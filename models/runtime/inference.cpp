#include "models/runtime/inference.h"

#include <algorithm>

namespace tandem {

namespace {

/// Shorter idle gaps are ordinary Python time, not waits for another thread.
constexpr Duration shortest_hand_off = microseconds(20);
/// How long before a late start a cause on another stream may have ended.
constexpr Duration edge_window = microseconds(20);

TimePoint end_of(const Activities& a, std::uint32_t row) { return a.begin[row] + a.duration[row]; }

}  // namespace

WaitInference::WaitInference(const Trace& trace, const Links& links, const DeviceTiming& timing)
    : trace_(trace), links_(links), timing_(timing), launched_(trace.streams.size()) {
  for (std::size_t i = 0; i < trace.overheads.size(); ++i) {
    if (trace.strings.get(trace.overheads.name[i]).find("Buffer Full") == std::string_view::npos) {
      continue;
    }
    full_.push_back(
        {trace.overheads.begin[i], trace.overheads.begin[i] + trace.overheads.duration[i]});
  }
  std::sort(full_.begin(), full_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (const std::uint32_t call : links.calls_in_order) {
    for (const std::uint32_t act : links.activities_of_call.of(call)) {
      launched_[trace.activities.stream[act].index()].push_back({trace.calls.begin[call], act});
    }
  }
}

Duration WaitInference::queue_full(TimePoint begin, TimePoint end) const {
  Duration sum{};
  auto it = std::lower_bound(full_.begin(), full_.end(), begin,
                             [](const Span& span, TimePoint t) { return span.end <= t; });
  for (; it != full_.end() && it->begin < end; ++it) {
    sum += std::min(end, it->end) - std::max(begin, it->begin);
  }
  return sum;
}

WaitInference::Target WaitInference::target(std::uint32_t call) const {
  const TimePoint begin = trace_.calls.begin[call];
  const TimePoint end = begin + trace_.calls.duration[call];
  Target best;
  TimePoint best_end = TimePoint::min();
  for (const auto& stream : launched_) {
    // The last activity of the stream that was launched before the call and ended by its return.
    auto it = std::lower_bound(stream.begin(), stream.end(), begin,
                               [](const auto& entry, TimePoint t) { return entry.first < t; });
    while (it != stream.begin() && end_of(trace_.activities, std::prev(it)->second) > end) --it;
    if (it == stream.begin()) continue;
    const std::uint32_t act = std::prev(it)->second;
    if (end_of(trace_.activities, act) > best_end) {
      best_end = end_of(trace_.activities, act);
      best.activity = act;
    }
  }
  best.waited = best.activity != no_row && best_end > begin;
  best.all = trace_.calls.api[call] == ApiKind::device_synchronize;
  return best;
}

std::uint32_t find_hand_off(ThreadId thread, TimePoint own_end, TimePoint begin,
                            const OpCover& cover, const std::vector<HostItem>& items,
                            const std::vector<TimePoint>& traced_begin,
                            const std::vector<TimePoint>& traced_end) {
  if (own_end != TimePoint::min() && begin - own_end < shortest_hand_off) return no_index;
  std::uint32_t best = no_index;
  for (std::size_t i = items.size(); i-- > 0;) {
    if (traced_begin[i] < own_end) break;
    if (items[i].thread == thread.value) break;
    if (items[i].kind == ItemKind::step_begin || items[i].kind == ItemKind::step_end) continue;
    if (traced_end[i] > begin) continue;
    if (best == no_index || traced_end[i] > traced_end[best]) best = static_cast<std::uint32_t>(i);
  }
  if (best != no_index && cover.covers(thread, traced_end[best])) return no_index;
  return best;
}

void infer_edges(const Trace& trace, const Links& links, const DeviceTiming& timing,
                 const std::vector<std::uint32_t>& work_of_activity, Plan& plan, LossList& losses) {
  const Activities& acts = trace.activities;
  std::vector<std::uint32_t> by_end(plan.works.size());
  for (std::uint32_t w = 0; w < by_end.size(); ++w) by_end[w] = w;
  const auto work_end = [&](std::uint32_t w) { return end_of(acts, plan.works[w].source); };
  std::sort(by_end.begin(), by_end.end(),
            [&](std::uint32_t a, std::uint32_t b) { return work_end(a) < work_end(b); });
  const auto launch_of = [&](std::uint32_t w) {
    const std::uint32_t call = links.call_of_activity[plan.works[w].source];
    return call == no_row ? TimePoint::min() : trace.calls.begin[call] + trace.calls.duration[call];
  };
  std::int64_t delays = 0;
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    DeviceWork& work = plan.works[w];
    if (work.item == no_index) continue;
    const HostItem& item = plan.items[work.item];
    const TimePoint start = acts.begin[work.source];
    const std::uint32_t previous = links.stream_predecessor[work.source];
    TimePoint allowed = trace.calls.begin[item.source] + item.submit + work.latency;
    TimePoint stream_free = TimePoint::min();
    if (previous != no_row) {
      stream_free = end_of(acts, previous) + timing.gap(previous, work.source).traced;
    }
    allowed = std::max(allowed, stream_free);
    if (start - allowed <= unexplained_delay) continue;
    // The latest cause among what was launched before, and among what was launched later.
    std::uint32_t before = no_index;
    std::uint32_t later = no_index;
    auto it =
        std::upper_bound(by_end.begin(), by_end.end(), start,
                         [&](TimePoint t, std::uint32_t other) { return t < work_end(other); });
    while (it != by_end.begin() && (before == no_index || later == no_index)) {
      const std::uint32_t other = *--it;
      if (start - work_end(other) > edge_window) break;
      if (plan.works[other].stream == work.stream) continue;
      std::uint32_t& cause = other < w ? before : later;
      if (cause == no_index && (other < w || launch_of(other) < allowed)) cause = other;
    }
    work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
    for (const std::uint32_t cause : {before, later}) {
      if (cause != no_index) plan.edges.push_back({cause, start - work_end(cause)});
    }
    work.edge_count = static_cast<std::uint32_t>(plan.edges.size()) - work.first_edge;
    if (work.edge_count > 0) {
      continue;
    }
    if (previous != no_row && end_of(acts, previous) > trace.calls.begin[item.source]) {
      work.gap += start - allowed;
      work.far_gap += start - allowed;
      ++delays;
    } else {
      work.latency += start - allowed;
      ++delays;
    }
  }
  static_cast<void>(work_of_activity);
  losses.add(
      "unexplained_device_delay", Severity::info,
      "device work that started more than 2.5 us later than its launch, its stream and other "
      "streams explain; the delay is kept as measured",
      delays);
}

}  // namespace tandem
