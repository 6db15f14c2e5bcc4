// Operations and user ranges of a trace on the clock of a simulated run, whose plan knows calls
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/trace/trace.h"

namespace tandem {

struct PlacedRange {
  TimePoint begin;
  TimePoint end;
  std::uint16_t thread = 0;  // index of Plan::threads
  bool is_op = true;
  std::uint32_t row = 0;  // of Trace::ops, else of Trace::annotations
};

/// Those around at least one call that the plan still makes itself: what a graph replays, or a
/// compiler removed, the host does not run. Between two calls a begin or end lies where it lay in
/// the trace, in proportion.
std::vector<PlacedRange> host_ranges(const Trace& trace, const Plan& plan,
                                     const Timeline& timeline);

}  // namespace tandem
