// Runs the points of a sweep in parallel.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/sweep/grid.h"
#include "sim/sweep/metrics.h"
#include "sim/sweep/store.h"

namespace tandem {

struct RunOptions {
  int threads = 0;  // 0: as many as the machine has
  /// Called now and then, never from two threads at once; null: nobody looks.
  std::function<void(std::size_t done, std::size_t all)> progress;
};

/// `predict` must be pure: equal points give equal results, on any thread. Points that `store`
/// knows are taken from there, others are added to it; null: everything is run.
/// An InputError or std::exception of one point becomes its error; the others go on.
std::vector<PointResult> run_points(std::span<const Point> points,
                                    const std::function<PointResult(const Point&)>& predict,
                                    PointStore* store, const RunOptions& options);

}  // namespace tandem
