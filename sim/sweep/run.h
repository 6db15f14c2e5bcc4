// Runs the points of a sweep in parallel: over threads, and over ranks where mpirun started
// several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/sweep/grid.h"
#include "sim/sweep/metrics.h"
#include "sim/sweep/store.h"

namespace tandem {

class Ranks;

/// What became of a point, and whether it would again: an internal error is not worth keeping.
struct Outcome {
  PointResult result;
  bool keep = true;
  std::string line = {};  // of the store that will keep it: whoever runs a point writes it down
};

/// `predict(point)`; an InputError or std::exception becomes the error of the result.
Outcome run_point(const Point& point, const std::function<PointResult(const Point&)>& predict);

struct RunOptions {
  int threads = 0;           // 0: as many as the machine has
  Ranks* ranks = nullptr;    // this is rank 0 of them; null: there is no other
  std::uint64_t inputs = 0;  // with ranks: hash of what they must share
  /// What a user should know of ranks; null: nobody looks.
  std::function<void(const std::string&)> note = {};
  /// Called now and then, never from two threads at once; null: nobody looks.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// `predict` must be pure: equal points give equal results, on any thread. Points that `store`
/// knows are taken from there, others are added to it; null: everything is run.
/// An InputError or std::exception of one point becomes its error; the others go on.
std::vector<PointResult> run_points(std::span<const Point> points,
                                    const std::function<PointResult(const Point&)>& predict,
                                    PointStore* store, const RunOptions& options);

}  // namespace tandem
