// Measured points of EuroMLSys'23 figure 1: a tiny kernel launched back to back, over blocks and
// threads, on the published GPU and on ours.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/tiny_launch/tiny_launch.h"

namespace tandem {

struct SquarePoint {
  LaunchGeometry geometry;
  double period_us = 0;  // 0: not known, or too short for the resolution of the measurement
  double gract = 0;
  double smact = 0;
  double smocc = 0;
};

/// Steady-state medians of the published log. Errors: InputError.
std::vector<SquarePoint> read_published(const std::string& path);
/// The rows of `kernel` in activity.csv of bench/device/square. Errors: InputError.
std::vector<SquarePoint> read_activity(const std::string& path, std::string_view kernel);

/// The constants may be fitted to these points only: 32 and 1024 threads a block.
bool may_be_fitted(const SquarePoint& point);

struct SquareErrors {
  std::size_t count = 0;
  double smact = 0;  // mean absolute
  double smact_bias = 0;
  double smocc = 0;
  double smocc_bias = 0;
  double gract = 0;
  double log_period = 0;  // mean |ln(predicted / measured)|
};
SquareErrors errors_of(const GpuArch& gpu, std::span<const SquarePoint> points, StoreTarget stores,
                       const TinyConstants& constants);

/// Constants that fit `points` best, found from `start` by Nelder and Mead's method.
TinyConstants fit_constants(const GpuArch& gpu, std::span<const SquarePoint> points,
                            const TinyConstants& start);
/// The members that fit_constants() changes.
struct FittedConstant {
  std::string_view name;
  double TinyConstants::*member;
};
std::span<const FittedConstant> fitted_constants();

}  // namespace tandem
