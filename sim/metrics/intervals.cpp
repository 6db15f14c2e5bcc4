#include "sim/metrics/intervals.h"

#include <algorithm>

namespace tandem {

Duration union_length(std::vector<Interval>& intervals, TimePoint from, TimePoint to) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  Duration sum{};
  TimePoint covered = from;
  for (const Interval& interval : intervals) {
    const TimePoint begin = std::max(interval.begin, covered);
    const TimePoint end = std::min(interval.end, to);
    if (end <= begin) continue;
    sum += end - begin;
    covered = end;
  }
  return sum;
}

}  // namespace tandem
