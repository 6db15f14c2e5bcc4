// From recorded micro-benchmarks (bench/device/energy) to energy per access (thesis section 5.6).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/energy/power_log.h"
#include "models/energy/regression.h"

namespace tandem {

/// A kernel that was kept running, with what it did and drew.
struct CalibrationPoint {
  std::string kernel;
  double threads = 0;  // a block
  double blocks = 0;
  double sm_share = 1;
  double seconds = 0;
  double sectors = 0;
  double flop = 0;
  double divides = 0;
  WindowPower power;
};
/// A point, or with line 0 a kernel with all its points, that says nothing.
struct DroppedPoint {
  std::string kernel;
  std::size_t line = 0;  // of points.csv
  std::string reason;
};
/// points.csv with the power of each point's window; its first part, in which the board settles, is
/// left out. Points without power or time are added to `dropped`. Errors: InputError.
std::vector<CalibrationPoint> read_points(const std::string& path,
                                          std::span<const PowerSample> samples,
                                          std::vector<DroppedPoint>& dropped);

struct Estimate {
  double value = 0;
  double ci95 = 0;  // half width
};

/// Mean power of the points of a kernel, e.g. "idle".
Estimate mean_power(std::span<const CalibrationPoint> points, std::string_view kernel);

/// Energy per access by threads a block (thesis figures 5.8 and 5.9).
struct ThreadPoint {
  double threads = 0;
  double blocks = 0;
  Estimate pj;
  std::size_t runs = 0;
};

struct AccessCalibration {
  std::string kernel;
  std::vector<ThreadPoint> curve;  // by threads, then blocks
  Estimate bound_pj;               // least of the curve: the lower bound
  Line line;                       // dynamic J over accesses, whole warps (equation 5.4)
};
/// Dynamic energy stands on the idle power (thesis section 5.5.2.4). `work`: what is counted.
/// Nothing if there is no point of that kernel.
std::optional<AccessCalibration> calibrate_access(std::span<const CalibrationPoint> points,
                                                  std::string_view kernel, const Estimate& idle,
                                                  double CalibrationPoint::*work);

/// Energy of one thread's division: LOAD + DIV minus LOAD at the same threads (thesis figure 5.10).
std::optional<Estimate> divide_energy(std::span<const CalibrationPoint> points,
                                      std::string_view load, std::string_view divide,
                                      const Estimate& idle);

/// Power of one more active SM: slope of the power over the SMs that the points of `busy` hold.
Line active_sm_power(std::span<const CalibrationPoint> points, double sm_count);

}  // namespace tandem
