// The points that no other point beats.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/sweep/experiment.h"

namespace tandem {

/// Indexes of the points that no other is at least as good as in both coordinates and better in
/// one, sorted by x, then y, then index. Equal points are all kept; points with NaN are none.
/// x and y stand parallel. O(n log n).
std::vector<std::size_t> pareto_front(std::span<const double> x, std::span<const double> y,
                                      Goal x_goal, Goal y_goal);

}  // namespace tandem
