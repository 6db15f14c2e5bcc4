// What the works of an edited step wait for: edges between streams when works appear and vanish.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/plan.h"

namespace tandem {

/// Where a work of the new plan comes from.
struct WorkOrigin {
  std::uint32_t old_work = 0;  // itself, or the one it was put next to
  bool takes_edges = false;    // waits for what the old work waits for
};

/// The work that stands in for `w` where others wait for it: itself, or what its stream ran before
/// it, if need be at the end of the step before. `new_work`: per old work, no_index: dropped.
WorkEdge stand_in(const Plan& old, const std::vector<std::uint32_t>& new_work, std::uint32_t w);

/// Writes the edges of `plan`. What a dropped work waited for its stream goes on waiting for: the
/// next work of the stream does, if need be in the next step. `origins`: per work of `plan`.
void move_edges(const Plan& old, const std::vector<std::uint32_t>& new_work,
                const std::vector<WorkOrigin>& origins, Plan& plan);

}  // namespace tandem
