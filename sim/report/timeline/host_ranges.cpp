#include "sim/report/timeline/host_ranges.h"

#include <algorithm>

namespace tandem {

namespace {

/// A call in the trace and in the simulation.
struct Anchor {
  TimePoint traced_begin, traced_end;
  TimePoint begin, end;
  std::uint16_t thread = 0;
};

/// A graph that was not traced stands for calls that are not made any more.
bool makes_its_call(const Trace& trace, const HostItem& item) {
  if (item.source == no_index) return false;
  return item.kind != ItemKind::graph_launch ||
         trace.calls.api[item.source] == ApiKind::launch_graph;
}

/// Per thread of the trace, by time; calls that a what-if moved before earlier ones are left out.
std::vector<std::vector<Anchor>> anchors_of(const Trace& trace, const Plan& plan,
                                            const Timeline& timeline) {
  std::vector<std::vector<Anchor>> anchors(trace.threads.size());
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (!makes_its_call(trace, item)) continue;
    const TimePoint begin = trace.calls.begin[item.source];
    anchors[trace.calls.thread[item.source].index()].push_back(
        {begin, begin + trace.calls.duration[item.source], timeline.item_begin[i],
         timeline.item_end[i], item.thread});
  }
  for (std::vector<Anchor>& of_thread : anchors) {
    std::stable_sort(of_thread.begin(), of_thread.end(), [](const Anchor& a, const Anchor& b) {
      return a.traced_begin < b.traced_begin;
    });
    std::vector<Anchor> kept;
    for (const Anchor& a : of_thread) {
      const bool after =
          kept.empty() || (a.traced_begin >= kept.back().traced_end && a.begin >= kept.back().end &&
                           a.thread == kept.back().thread);
      if (after) kept.push_back(a);
    }
    of_thread = std::move(kept);
  }
  return anchors;
}

/// `time` between two traced times, as far between two simulated ones.
TimePoint between(TimePoint time, TimePoint traced_from, TimePoint traced_to, TimePoint from,
                  TimePoint to) {
  if (traced_to <= traced_from) return from;
  const double share = static_cast<double>((time - traced_from).count()) /
                       static_cast<double>((traced_to - traced_from).count());
  const auto ps = static_cast<double>((to - from).count()) * std::clamp(share, 0.0, 1.0);
  return from + Duration{static_cast<Duration::rep>(ps)};
}

/// Before the first and after the last call time runs as in the trace.
TimePoint simulated_time(const std::vector<Anchor>& anchors, TimePoint time) {
  const auto next =
      std::upper_bound(anchors.begin(), anchors.end(), time,
                       [](TimePoint t, const Anchor& a) { return t < a.traced_begin; });
  if (next == anchors.begin()) return next->begin - (next->traced_begin - time);
  const Anchor& last = *(next - 1);
  if (time < last.traced_end) {
    return between(time, last.traced_begin, last.traced_end, last.begin, last.end);
  }
  if (next == anchors.end()) return last.end + (time - last.traced_end);
  return between(time, last.traced_end, next->traced_begin, last.end, next->begin);
}

template <class Rows>
void add_ranges(const Rows& rows, bool is_op, const std::vector<std::vector<Anchor>>& anchors,
                TimePoint earliest, std::vector<PlacedRange>& out) {
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (!rows.thread[i].valid()) continue;
    const std::vector<Anchor>& calls = anchors[rows.thread[i].index()];
    const TimePoint begin = rows.begin[i];
    const TimePoint end = begin + rows.duration[i];
    const auto first =
        std::lower_bound(calls.begin(), calls.end(), begin,
                         [](const Anchor& a, TimePoint t) { return a.traced_begin < t; });
    if (first == calls.end() || first->traced_begin >= end) continue;
    out.push_back({std::max(earliest, simulated_time(calls, begin)), simulated_time(calls, end),
                   first->thread, is_op, i});
  }
}

}  // namespace

std::vector<PlacedRange> host_ranges(const Trace& trace, const Plan& plan,
                                     const Timeline& timeline) {
  const auto anchors = anchors_of(trace, plan, timeline);
  TimePoint earliest = TimePoint::max();
  for (const PlanThread& thread : plan.threads) earliest = std::min(earliest, thread.begin);
  std::vector<PlacedRange> out;
  add_ranges(trace.annotations, false, anchors, earliest, out);
  add_ranges(trace.ops, true, anchors, earliest, out);
  return out;
}

}  // namespace tandem
