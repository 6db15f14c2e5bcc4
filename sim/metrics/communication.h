// Work that moves data rather than computes: how much of it stands alone on the critical resource.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"

namespace tandem {

struct MovedTime {
  std::int64_t count = 0;
  double time_us = 0;     // sum of durations, waiting for other ranks included
  double waiting_us = 0;  // of that, until the last rank came
  double exposed_us = 0;  // union of the times in which nothing computes beside it
};

/// Of the works [first, end) of a plan that `moves` names; the others of them compute. Work of a
/// meeting moves its data for DeviceWork::duration and waited before.
MovedTime moved_time(const Plan& plan, const Timeline& timeline, std::size_t first, std::size_t end,
                     const std::function<bool(const DeviceWork&)>& moves);

}  // namespace tandem
