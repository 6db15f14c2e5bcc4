#include "models/runtime/host_work.h"

#include <algorithm>

namespace tandem {

OpCover::OpCover(const Trace& trace) : of_thread_(trace.threads.size()) {
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    of_thread_[trace.ops.thread[i].index()].push_back(
        {trace.ops.begin[i], trace.ops.begin[i] + trace.ops.duration[i]});
  }
  join();
}

OpCover OpCover::of_input(const Trace& trace) {
  OpCover out;
  out.of_thread_.resize(trace.threads.size());
  const Annotations& notes = trace.annotations;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes.mark[i] != AnnotationMark::input || !notes.thread[i].valid()) continue;
    out.of_thread_[notes.thread[i].index()].push_back(
        {notes.begin[i], notes.begin[i] + notes.duration[i]});
  }
  out.join();
  return out;
}

/// Makes the intervals of each thread disjoint.
void OpCover::join() {
  for (auto& intervals : of_thread_) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (const Interval& next : intervals) {
      if (kept > 0 && next.begin < intervals[kept - 1].end) {
        intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
      } else {
        intervals[kept++] = next;
      }
    }
    intervals.resize(kept);
  }
}

bool OpCover::covers(ThreadId thread, TimePoint time) const {
  const auto& intervals = of_thread_[thread.index()];
  const auto after =
      std::upper_bound(intervals.begin(), intervals.end(), time,
                       [](TimePoint t, const Interval& interval) { return t < interval.begin; });
  return after != intervals.begin() && time < std::prev(after)->end;
}

std::span<const OpCover::Interval> OpCover::within(ThreadId thread, TimePoint begin,
                                                   TimePoint end) const {
  const auto& intervals = of_thread_[thread.index()];
  const auto first =
      std::lower_bound(intervals.begin(), intervals.end(), begin,
                       [](const Interval& interval, TimePoint t) { return interval.end <= t; });
  const auto last =
      std::lower_bound(first, intervals.end(), end,
                       [](const Interval& interval, TimePoint t) { return interval.begin < t; });
  return {first, last};
}

Duration OpCover::covered(ThreadId thread, TimePoint begin, TimePoint end) const {
  Duration sum{};
  for (const Interval& op : within(thread, begin, end)) {
    sum += std::min(end, op.end) - std::max(begin, op.begin);
  }
  return sum;
}

Duration OpCover::bare(ThreadId thread, TimePoint begin, TimePoint end, Duration usual) const {
  Duration sum{};
  TimePoint free = begin;
  const auto see = [&](TimePoint until) {
    sum += std::max(Duration::zero(), until - free - usual);
  };
  for (const Interval& op : within(thread, begin, end)) {
    see(op.begin);
    free = std::max(free, op.end);
  }
  if (free < end) see(end);
  return sum;
}

}  // namespace tandem
