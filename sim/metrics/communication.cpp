#include "sim/metrics/communication.h"

#include <algorithm>
#include <vector>

#include "sim/metrics/intervals.h"

namespace tandem {

MovedTime moved_time(const Plan& plan, const Timeline& timeline, std::size_t first, std::size_t end,
                     const std::function<bool(const DeviceWork&)>& moves) {
  MovedTime out;
  std::vector<Interval> computing;
  std::vector<Interval> all;
  TimePoint from = TimePoint::max();
  TimePoint to = TimePoint::min();
  for (std::size_t w = first; w < end; ++w) {
    const Interval span{timeline.work_begin[w], timeline.work_end[w]};
    from = std::min(from, span.begin);
    to = std::max(to, span.end);
    all.push_back(span);
    const DeviceWork& work = plan.works[w];
    if (!moves(work)) {
      if (work.engine == DeviceEngine::compute) computing.push_back(span);
      if (work.engine != DeviceEngine::compute) all.pop_back();
      continue;
    }
    ++out.count;
    out.time_us += to_us(span.end - span.begin);
    if (work.meeting != no_index) out.waiting_us += to_us(span.end - span.begin - work.duration);
  }
  if (out.count == 0) return out;
  out.exposed_us = to_us(union_length(all, from, to) - union_length(computing, from, to));
  return out;
}

}  // namespace tandem
