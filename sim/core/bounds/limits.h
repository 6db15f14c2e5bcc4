// What numbers of an input may be. Importers, readers of configs and the command line check against
// these bounds once; arithmetic behind them relies on what is said here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tandem::limits {

// Shapes. The largest GPU memories hold 2^38 numbers of one byte; expanded tensors may name more
// elements than they store.
inline constexpr std::int64_t dimension = std::int64_t{1} << 40;  // of a tensor
inline constexpr std::int64_t elements = std::int64_t{1} << 40;   // of a tensor
/// Of a list of tensors, as an optimizer updates at once with a kernel for every 20 million
/// elements: 1 TiB in FP32.
inline constexpr std::int64_t list_elements = std::int64_t{1} << 38;

/// Bytes that one event moves or one tensor holds: 1 PiB.
inline constexpr std::int64_t bytes = std::int64_t{1} << 50;

/// Things that an option or a config counts: samples of a batch, steps, ranks.
inline constexpr std::int64_t count = (std::int64_t{1} << 31) - 1;

// Time, in picoseconds. int64 holds 106 days: sums over all events of a trace cannot overflow.
inline constexpr std::int64_t ps_per_s = 1'000'000'000'000;
inline constexpr std::int64_t event_ps = 1'000 * ps_per_s;   // one event: 1000 s
inline constexpr std::int64_t trace_ps = 86'400 * ps_per_s;  // around its first event: a day
inline constexpr std::int64_t all_events_ps =
    30 * 86'400 * ps_per_s;                                      // all events together: 30 days
inline constexpr std::int64_t predicted_ps = 10'000 * ps_per_s;  // one predicted kernel or call
inline constexpr std::int64_t plan_ps = 40 * 86'400 * ps_per_s;  // all that a plan holds: 40 days

/// Numbers of configs and overrides are 0 or lie between these, whatever their unit.
inline constexpr double smallest_number = 1e-20;
inline constexpr double largest_number = 1e16;

/// a * b for non-negative numbers; the largest int64 where that does not fit.
constexpr std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

/// `value`, a product or quotient of bounded numbers in floating point, as a whole number; cut to
/// what int64 holds. NaN is 0.
constexpr std::int64_t whole(double value) {
  constexpr double most = 9e18;
  return value == value ? static_cast<std::int64_t>(std::clamp(value, -most, most)) : 0;
}

}  // namespace tandem::limits
