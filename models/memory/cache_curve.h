// Cache sizes: what a pointer chase round and round an array should see (thesis figure 5.4), and
// where a measured curve has its steps.
#pragma once

#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"

namespace tandem {

struct CacheShape {
  double bytes = 0;
  double line_bytes = 128;
  double ways = 16;
};

/// Share of the accesses that miss once warm, when an array of `footprint_bytes` is read in order
/// again and again: least recently used lines leave, consecutive lines fill consecutive sets. Sets
/// with more lines than ways miss always, all others never, so the curve rises from 0 at the
/// capacity to 1 a way beyond.
double cyclic_miss_share(const CacheShape& cache, double footprint_bytes);

/// Capacities that the arrays of a chase meet one after the other.
struct CacheKnees {
  double l1 = 0;         // of one SM
  double l2_near = 0;    // one SM's own partition of L2; 0: L2 is not divided
  double l2_one_sm = 0;  // all of L2, from one SM
  /// All SMs, each line read by one of them: lines at home in another partition than their reader's
  /// are held twice.
  double l2_all_sms = 0;
};
CacheKnees cache_knees(const GpuArch& gpu);

struct CurvePoint {
  double bytes = 0;
  double cycles = 0;  // an access
};

/// A rise from one level of a curve to the next.
struct CurveStep {
  double begin_bytes = 0;  // last size on the lower level
  double knee_bytes = 0;   // where half of the rise is done
  double below = 0, above = 0;
};
/// A level is five points in a row within 6 % of the curve's range. Points by growing size. A curve
/// that rises less than twice its lowest level's scatter has no step.
std::vector<CurveStep> curve_steps(std::span<const CurvePoint> curve);

}  // namespace tandem
