// What two events around one call of an operator measure: an artefact of the tables, not a part of
// the kernel's time.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "validation/fits/kernel_time/tables.h"

namespace tandem::kernel_time {

/// The host records an event, launches the operator, records the second event. The kernel ends
/// `offset_us` plus its own time after the first event; the second one is not earlier than the host
/// reaches it, `floor_us` after the first. So launch costs are hidden by long kernels, and short
/// kernels by launch costs. Further kernels of the operator wait for their launches.
struct EventTiming {
  static constexpr double launch_us = 5;  // fitted on bmm and linear fit rows with split k
  double floor_us = 0;
  double offset_us = 0;
  double latency(double kernel_us, int launches) const {
    return std::max(floor_us, offset_us + kernel_us) + launch_us * (launches - 1);
  }
};

/// The timing of an operator on a GPU, from the rows that may be fitted on; where there are none,
/// that of the same operator on the newest GPU that has some.
EventTiming event_timing(std::string_view op, std::string_view gpu);

/// The timing of each row of a table. The host was slower in parts of some tables, which shows in
/// the kernels that are hidden: where a table has enough of those among the rows that may be
/// fitted on, the floor of a row is the median of the nearest ones in the file, and the offset
/// moves with it.
std::vector<EventTiming> row_timings(const MeasuredTable& table,
                                     std::span<const KernelTime> kernels,
                                     const EventTiming& timing);

}  // namespace tandem::kernel_time
