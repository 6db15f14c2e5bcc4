// Lengths of unions of time intervals.
#pragma once

#include <vector>

#include "sim/core/time.h"

namespace tandem {

struct Interval {
  TimePoint begin;
  TimePoint end;
};

/// Length of the union, clipped to [from, to). Sorts `intervals`.
Duration union_length(std::vector<Interval>& intervals, TimePoint from, TimePoint to);

}  // namespace tandem
