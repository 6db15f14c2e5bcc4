#include "sim/predict/calibrate_host.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "sim/engine/engine.h"
#include "sim/metrics/intervals.h"
#include "sim/predict/stages/simulated_step.h"

namespace tandem {

namespace {

/// A loop this much longer than its GPU is busy waits for the host.
constexpr double host_bound_ratio = 1.12;
constexpr double smallest_factor = 0.05;
constexpr double largest_factor = 20;
/// Of the logarithm of a factor: host times repeat to a tenth only.
constexpr double factor_accuracy = 1e-6;

HostModel scaled(HostModel host, double factor) {
  host.gap_scale_aligned *= factor;
  host.gap_scale_single *= factor;
  return host;
}

double step_us(const TracedRun& a, const MeasuredPlan& plan, const HostModel& host) {
  return loop_us(step_plan(a.trace, plan, host, Profiler::remove).plan, host);
}

double busy_us(const TracedRun& a) {
  const Timeline t = simulate(a.traced_step.plan);
  std::vector<Interval> busy;
  for (std::size_t w = 0; w < t.work_begin.size(); ++w) {
    busy.push_back({t.work_begin[w], t.work_end[w]});
  }
  return to_us(union_length(busy, TimePoint{}, t.end));
}

/// Mean log of predicted over measured; grows with the factor.
double mean_log_error(const std::vector<TracedRun>& analyses, const std::vector<double>& measured,
                      const std::vector<std::size_t>& chosen, double factor) {
  double sum = 0;
  for (const std::size_t i : chosen) {
    const TracedRun& a = analyses[i];
    sum += std::log(step_us(a, a.measured, scaled(a.configs.host, factor)) / measured[i]);
  }
  return sum / static_cast<double>(chosen.size());
}

/// The factor at which `excess(log of factor)`, which grows with it, changes its sign; that of the
/// nearer end where it does not.
template <class Excess>
double balanced_factor(const Excess& excess) {
  const double low = std::log(smallest_factor), high = std::log(largest_factor);
  const double at_low = excess(low), at_high = excess(high);
  if (at_low >= 0) return smallest_factor;
  if (at_high <= 0) return largest_factor;
  const auto close = [](double a, double b) { return b - a < factor_accuracy; };
  std::uintmax_t most_calls = 60;
  const auto [a, b] =
      boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, close, most_calls);
  return std::exp((a + b) / 2);
}

double best_factor(const std::vector<TracedRun>& analyses, const std::vector<double>& measured,
                   const std::vector<std::size_t>& chosen) {
  return balanced_factor([&](double log_factor) {
    return mean_log_error(analyses, measured, chosen, std::exp(log_factor));
  });
}

void check(const TimedTrace& t) {
  if (t.iteration_us > 0 && std::isfinite(t.iteration_us)) return;
  throw InputError(t.path, "iteration time", std::to_string(t.iteration_us) + " us",
                   "a positive time");
}

/// A step that is this much longer than it is on the fastest host depends on the host.
constexpr double host_matters = 1.02;
/// Measured steps that no host makes so long, or so short, within this much.
constexpr double out_of_reach = 1.05;

/// Steps on the fastest host and on the slowest.
struct Reach {
  double fastest_us = 0, slowest_us = 0;
};

/// Counts a measured step that no host makes so long, or so short.
Reach reach_of(const TracedRun& run, const MeasuredPlan& plan, double measured_us,
               LossList& losses) {
  const HostModel& host = run.configs.host;
  const Reach reach{step_us(run, plan, scaled(host, smallest_factor)),
                    step_us(run, plan, scaled(host, largest_factor))};
  const bool out = measured_us * out_of_reach < reach.fastest_us ||
                   measured_us > reach.slowest_us * out_of_reach;
  losses.add("measured_step_out_of_reach", Severity::warning,
             "no host makes the traced step as long as it is said to be without the profiler: "
             "another unit than seconds, other work, another clock of the GPU, or operations that "
             "run on the host itself",
             out ? 1 : 0);
  return reach;
}

}  // namespace

HostModel host_of_step(const TracedRun& run, const MeasuredPlan& plan, double measured_us,
                       LossList& losses) {
  check({run.summary.path, measured_us});
  const HostModel& host = run.configs.host;
  const auto at = [&](double factor) { return step_us(run, plan, scaled(host, factor)); };
  const auto factor_of = [&](double us) {
    return balanced_factor([&](double f) { return std::log(at(std::exp(f)) / us); });
  };
  const auto [fastest, slowest] = reach_of(run, plan, measured_us, losses);
  if (slowest < host_matters * fastest) return host;
  if (measured_us > host_matters * fastest) {
    return scaled(host, factor_of(measured_us));
  }
  // The GPU limits it: the host is no slower than makes it a little longer.
  return scaled(host, std::min(1.0, factor_of(host_matters * std::max(measured_us, fastest))));
}

HostCalibration calibrate_host(const std::vector<TimedTrace>& traces,
                               const ReplayOptions& options) {
  HostCalibration out;
  std::vector<TracedRun> analyses;
  std::vector<double> measured;
  std::vector<std::size_t> chosen;
  for (const TimedTrace& t : traces) {
    check(t);
    analyses.push_back(analyse(import_trace(t.path, options.import), options));
    measured.push_back(t.iteration_us);
    const bool used = t.iteration_us > host_bound_ratio * busy_us(analyses.back());
    if (used) chosen.push_back(analyses.size() - 1);
    reach_of(analyses.back(), analyses.back().measured, t.iteration_us, out.losses);
    out.rows.push_back({t.path, t.iteration_us, 0, 0, 0, used});
  }
  if (chosen.empty()) {
    throw InputError("command line", "calibrate host", "no trace that the host limits",
                     "a trace whose unprofiled iteration is over 1.12 times its GPU time, such as "
                     "a small batch");
  }
  out.factor = best_factor(analyses, measured, chosen);
  out.host = scaled(analyses.front().configs.host, out.factor);
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    const HostModel& host = analyses[i].configs.host;
    out.rows[i].before_us = step_us(analyses[i], analyses[i].measured, host);
    out.rows[i].after_us = step_us(analyses[i], analyses[i].measured, scaled(host, out.factor));
    if (!out.rows[i].used || chosen.size() < 2) continue;
    std::vector<std::size_t> others = chosen;
    std::erase(others, i);
    const double factor = best_factor(analyses, measured, others);
    out.rows[i].left_out_us = step_us(analyses[i], analyses[i].measured, scaled(host, factor));
  }
  return out;
}

}  // namespace tandem
