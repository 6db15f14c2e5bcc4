#include "models/runtime/inference.h"

#include <algorithm>
#include <numeric>

#include "models/runtime/stream_events.h"

namespace tandem {

namespace {

/// Shorter idle gaps are ordinary Python time, not waits for another thread.
constexpr Duration shortest_hand_off = microseconds(20);
/// How long before a late start a cause on another stream may have ended.
constexpr Duration edge_window = microseconds(20);

/// From the first free places until a kernel that waited for them begins.
constexpr Duration places_delay = microseconds(5);

}  // namespace

WaitInference::WaitInference(const Trace& trace, const Links& links, const DeviceTiming& timing)
    : trace_(trace), links_(links), timing_(timing), launched_(trace.streams.size()) {
  for (std::uint32_t i = 0; i < trace.overheads.size(); ++i) {
    if (trace.strings.get(trace.overheads.name[i]).find("Buffer Full") == std::string_view::npos) {
      continue;
    }
    full_.push_back({trace.overheads.begin[i], end_of(trace.overheads, i)});
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

namespace {

/// Work of other streams that ended shortly before a late start.
class LateStarts {
 public:
  struct Causes {
    std::uint32_t before = no_index;  // launched before
    std::uint32_t later = no_index;   // launched later: it can only have held places
  };

  LateStarts(const Trace& trace, const Links& links, const Plan& plan)
      : trace_(trace), links_(links), plan_(plan), by_end_(plan.works.size()) {
    std::iota(by_end_.begin(), by_end_.end(), 0U);
    std::sort(by_end_.begin(), by_end_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return work_end(a) < work_end(b); });
  }

  TimePoint work_end(std::uint32_t w) const {
    return end_of(trace_.activities, plan_.works[w].source);
  }

  /// The latest of each kind, for work `w` that could have begun at `allowed`.
  Causes causes(std::uint32_t w, TimePoint allowed) const {
    const TimePoint start = trace_.activities.begin[plan_.works[w].source];
    Causes out;
    auto it =
        std::upper_bound(by_end_.begin(), by_end_.end(), start,
                         [&](TimePoint t, std::uint32_t other) { return t < work_end(other); });
    while (it != by_end_.begin() && (out.before == no_index || out.later == no_index)) {
      const std::uint32_t other = *--it;
      if (start - work_end(other) > edge_window) break;
      if (plan_.works[other].stream == plan_.works[w].stream) continue;
      std::uint32_t& cause = other < w ? out.before : out.later;
      if (cause == no_index && (other < w || launch_end(other) < allowed)) cause = other;
    }
    return out;
  }

 private:
  TimePoint launch_end(std::uint32_t w) const {
    const std::uint32_t call = links_.call_of_activity[plan_.works[w].source];
    return call == no_row ? TimePoint::min() : end_of(trace_.calls, call);
  }

  const Trace& trace_;
  const Links& links_;
  const Plan& plan_;
  std::vector<std::uint32_t> by_end_;
};

/// When work began in the trace, and when its launch and its stream would have let it begin.
struct WorkStart {
  TimePoint traced, allowed;
  bool behind_stream = false;  // what is before it on its stream ended after the launch began
  bool late() const { return traced - allowed > unexplained_delay; }
};

WorkStart start_of(const Trace& trace, const Links& links, const DeviceTiming& timing,
                   const HostItem& item, const DeviceWork& work) {
  const Activities& acts = trace.activities;
  const TimePoint launched = trace.calls.begin[item.source];
  WorkStart out{acts.begin[work.source], launched + item.submit + work.latency};
  const std::uint32_t previous = links.stream_predecessor[work.source];
  if (previous == no_row) return out;
  const TimePoint free = end_of(acts, previous);
  out.allowed = std::max(out.allowed, free + timing.gap(previous, work.source).traced);
  out.behind_stream = free > launched;
  return out;
}

/// When a late start had places on the SMs.
struct PlacesFree {
  TimePoint at;
  bool explains = false;  // the start
};

PlacesFree places_free(const TracedPool& pool, const WorkStart& start) {
  const TimePoint at = pool.full_until(start.allowed, start.traced);
  return {at, at > start.allowed && start.traced - at < places_delay};
}

/// Edges of the last work, whose edges stand at the end of the plan's.
void add_edge(std::uint32_t cause, Duration delay, bool places, DeviceWork& work, Plan& plan) {
  plan.edges.push_back({cause, delay, places});
  ++work.edge_count;
}

/// Edges to the works whose events the launch waits for.
void add_awaited(const Trace& trace, const StreamEvents& events,
                 const std::vector<std::uint32_t>& work_of_activity, std::uint32_t w, Plan& plan) {
  DeviceWork& work = plan.works[w];
  const TimePoint start = trace.activities.begin[work.source];
  for (const std::uint32_t act : events.awaited(work.source)) {
    const std::uint32_t cause = work_of_activity[act];
    if (cause == no_index || cause >= w) continue;
    // How much later work may begin without it being told from an immediate start.
    add_edge(cause, std::min(start - end_of(trace.activities, act), unexplained_delay), false, work,
             plan);
  }
}

/// Edges to what a late start waited for on other streams; whether there are any.
bool add_causes(const LateStarts& late, const StreamEvents& events, const WorkStart& start,
                bool for_places, std::uint32_t w, Plan& plan) {
  DeviceWork& work = plan.works[w];
  // The edges inside a CUDA graph are unknown.
  const bool for_event = work.graph_node || events.waits(work.source);
  const LateStarts::Causes causes = late.causes(w, start.allowed);
  for (const std::uint32_t cause : {causes.before, causes.later}) {
    if (cause == no_index) continue;
    const bool places = for_places && (!for_event || cause == causes.later);
    add_edge(cause, start.traced - late.work_end(cause), places, work, plan);
  }
  return causes.before != no_index || causes.later != no_index;
}

/// A delay that nothing explains stays as it was measured.
void keep_delay(const WorkStart& start, const PlacesFree& places, DeviceWork& work) {
  const Duration delay = start.traced - start.allowed;
  const Duration wait = places.explains ? delay : places.at - start.allowed;
  if (start.behind_stream) {
    work.gap += delay;
    work.far_gap += delay;
    work.pool_wait = wait;
  } else {
    work.latency += delay;
    work.pool_latency = wait;
  }
}

}  // namespace

void infer_edges(const Trace& trace, const Links& links, const DeviceTiming& timing,
                 const TracedPool& pool, const std::vector<std::uint32_t>& work_of_activity,
                 Plan& plan, LossList& losses) {
  const StreamEvents events(trace, links);
  losses.add("events_not_awaited", Severity::warning,
             "events beyond the 64 latest that one launch waits for; not waited for",
             events.dropped());
  const LateStarts late(trace, links, plan);
  std::int64_t delays = 0;
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    DeviceWork& work = plan.works[w];
    if (work.item == no_index) continue;
    const WorkStart start = start_of(trace, links, timing, plan.items[work.item], work);
    work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
    add_awaited(trace, events, work_of_activity, w, plan);
    if (!start.late()) continue;
    const PlacesFree places = places_free(pool, start);
    if (add_causes(late, events, start, places.explains, w, plan)) continue;
    ++delays;
    keep_delay(start, places, work);
  }
  losses.add(
      "unexplained_device_delay", Severity::info,
      "device work that started more than 2.5 us later than its launch, its stream and other "
      "streams explain; the delay is kept as measured",
      delays);
}

}  // namespace tandem
