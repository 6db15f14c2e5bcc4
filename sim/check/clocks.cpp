#include "sim/check/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/trace/row_order.h"

namespace tandem {

namespace {

/// Time from a launch to its kernel where the device had nothing to do.
struct Delay {
  double at_us = 0;
  double us = 0;
};

std::vector<Delay> idle_delays(const TracedRun& run) {
  const Activities& acts = run.trace.activities;
  std::vector<Delay> out;
  TimePoint busy_until = TimePoint::min();
  for (const std::uint32_t a : rows_by_begin(acts)) {
    const std::uint32_t call = run.links.call_of_activity[a];
    if (call != no_row && acts.kind[a] == ActivityKind::kernel &&
        run.trace.calls.api[call] == ApiKind::launch_kernel &&
        busy_until < run.trace.calls.begin[call]) {
      out.push_back({to_us(acts.begin[a]), to_us(acts.begin[a] - run.trace.calls.begin[call])});
    }
    busy_until = std::max(busy_until, acts.begin[a] + acts.duration[a]);
  }
  return out;
}

constexpr std::size_t windows = 10;
constexpr std::size_t least_in_window = 8;

/// The shortest delay in each of the equal parts of the trace that hold enough of them: what is
/// longer waited for something else.
std::vector<Delay> floors(const std::vector<Delay>& delays) {
  const double from = delays.front().at_us;
  const double width = (delays.back().at_us - from) / windows;
  std::vector<std::vector<Delay>> parts(windows);
  for (const Delay& d : delays) {
    const auto part = static_cast<std::size_t>(width > 0 ? (d.at_us - from) / width : 0);
    parts[std::min(part, windows - 1)].push_back(d);
  }
  std::vector<Delay> out;
  for (const auto& part : parts) {
    if (part.size() < least_in_window) continue;
    out.push_back(*std::min_element(part.begin(), part.end(),
                                    [](const Delay& a, const Delay& b) { return a.us < b.us; }));
  }
  return out;
}

/// Least squares through the floors.
struct Slope {
  double value = 0;
  double error = 0;  // standard
};

Slope slope_of(const std::vector<Delay>& points) {
  const auto n = static_cast<double>(points.size());
  double x = 0;
  double y = 0;
  for (const Delay& p : points) {
    x += p.at_us / n;
    y += p.us / n;
  }
  double xx = 0;
  double xy = 0;
  for (const Delay& p : points) {
    xx += (p.at_us - x) * (p.at_us - x);
    xy += (p.at_us - x) * (p.us - y);
  }
  if (xx <= 0) return {};
  const double slope = xy / xx;
  double rest = 0;
  for (const Delay& p : points) rest += std::pow(p.us - y - slope * (p.at_us - x), 2);
  return {slope, std::sqrt(rest / (n - 2) / xx)};
}

/// A kernel that is `us` where it cannot be. Where the clocks drift that explains it, and
/// clock_drift says what is wrong.
std::optional<Observation> misplaced(const Evidence& e, double us, std::uint32_t kernel) {
  if (us <= e.limits.clock_tolerance_us) return {};
  return Observation{clock_drift(e) ? Concern::note : Concern::wrong, us,
                     e.limits.clock_tolerance_us, place_of_kernel(e, kernel)};
}

/// All times of a device that import moved by `us`.
Observation moved(const Evidence& e, const ClockOffset& offset, double us) {
  return {clock_drift(e) ? Concern::note : Concern::doubt, us, e.limits.clock_tolerance_us,
          fmt::format("all of GPU {}, whose times were moved by as much", offset.device)};
}

}  // namespace

std::optional<Observation> kernel_before_launch(const Evidence& e) {
  const TracedRun& run = e.run;
  double worst = 0;
  std::uint32_t where = no_row;
  for (std::uint32_t a = 0; a < run.trace.activities.size(); ++a) {
    const std::uint32_t call = run.links.call_of_activity[a];
    if (call == no_row) continue;
    const double early = to_us(run.trace.calls.begin[call] - run.trace.activities.begin[a]);
    if (early <= worst) continue;
    worst = early;
    where = a;
  }
  for (const ClockOffset& offset : run.clock_offsets) {
    const double us = to_us(offset.behind);
    if (us > std::max(worst, e.limits.clock_tolerance_us)) return moved(e, offset, us);
  }
  return misplaced(e, worst, where);
}

std::optional<Observation> kernel_after_wait(const Evidence& e) {
  for (const ClockOffset& offset : e.run.clock_offsets) {
    const double us = -to_us(offset.behind);
    if (us > e.limits.clock_tolerance_us) return moved(e, offset, us);
  }
  const LateWork late = latest_work(e.run.trace, e.run.links);
  return misplaced(e, to_us(late.late), late.activity);
}

std::optional<Observation> clock_drift(const Evidence& e) {
  const std::vector<Delay> delays = idle_delays(e.run);
  if (delays.size() < 3 * least_in_window) return {};
  const std::vector<Delay> points = floors(delays);
  if (points.size() < 4) return {};
  const Slope slope = slope_of(points);
  const double span = points.back().at_us - points.front().at_us;
  const double ppm = slope.value * 1e6;
  if (std::abs(ppm) <= e.limits.drift_ppm || std::abs(slope.value) * span <= e.limits.drift_us ||
      std::abs(slope.value) <= e.limits.drift_errors * slope.error) {
    return {};
  }
  return Observation{
      Concern::wrong, std::abs(ppm), e.limits.drift_ppm,
      fmt::format("the device's clock is {} by {:.1f} us after {:.1f} ms",
                  ppm > 0 ? "ahead" : "behind", std::abs(slope.value) * span, span * 1e-3)};
}

}  // namespace tandem
