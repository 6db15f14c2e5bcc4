// Simulated and traced time as strong types: int64 picoseconds, no clock that could be read.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <stdexcept>

#include "sim/core/bounds/limits.h"

namespace tandem {

/// A length of time in picoseconds. int64 covers +-106 days.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

/// A clock without now(): time points come from traces and from the engine only.
struct TraceClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<TraceClock>;
  static constexpr bool is_steady = true;
};

/// A point in time, in picoseconds after the origin of its trace (`Trace::origin_us`).
using TimePoint = TraceClock::time_point;

inline constexpr std::int64_t ps_per_us = 1'000'000;

constexpr Duration picoseconds(std::int64_t n) { return Duration{n}; }
constexpr Duration nanoseconds(std::int64_t n) { return Duration{n * 1'000}; }
constexpr Duration microseconds(std::int64_t n) { return Duration{n * 1'000'000}; }

/// Rounds once, to the nearest picosecond. Beyond `limits::predicted_ps` it is that: the plan that
/// holds such a time is refused. Errors: std::logic_error for NaN, which no model may yield.
constexpr Duration rounded_ps(double ps) {
  constexpr auto most = static_cast<double>(limits::predicted_ps);
  if (ps > -most && ps < most) {
    return Duration{static_cast<std::int64_t>(ps < 0 ? ps - 0.5 : ps + 0.5)};
  }
  if (ps != ps) throw std::logic_error("a time that is no number");
  return Duration{ps < 0 ? -limits::predicted_ps : limits::predicted_ps};
}

/// For constants that are given as decimal microseconds.
constexpr Duration from_us(double us) { return rounded_ps(us * 1e6); }

constexpr double to_us(Duration d) { return static_cast<double>(d.count()) * 1e-6; }
constexpr double to_us(TimePoint t) { return to_us(t.time_since_epoch()); }

/// Scales a duration and rounds once to the nearest picosecond.
constexpr Duration scale(Duration d, double factor) {
  return rounded_ps(static_cast<double>(d.count()) * factor);
}

}  // namespace tandem
