#include "sim/check/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/predict/stages/kernel_counters.h"
#include "sim/predict/stages/measured_counters.h"

namespace tandem {

std::optional<Observation> unknown_device(const Evidence& e) {
  if (e.run.gpu || e.run.trace.activities.size() == 0) return {};
  return Observation{Concern::doubt, 1, 0, "device \"" + e.run.summary.gpu + "\""};
}

std::optional<Observation> no_launch_geometry(const Evidence& e) {
  if (e.run.states_grids || e.run.trace.activities.size() == 0) return {};
  return Observation{Concern::doubt, 1, 0, "most kernel time"};
}

std::optional<Observation> impossible_launches(const Evidence& e) {
  if (!e.run.gpu) return {};
  const std::vector<std::uint32_t> found = impossible_launches(e.run.trace, *e.run.gpu);
  if (found.empty()) return {};
  const auto all = static_cast<double>(e.run.trace.activities.size());
  return Observation{Concern::wrong, static_cast<double>(found.size()) / all, 0,
                     place_of_kernel(e, found.front())};
}

std::optional<Observation> counters_of_another_run(const Evidence& e) {
  if (e.counters == nullptr) return {};
  const auto& [report, match] = *e.counters;
  const double foreign = foreign_share(report, match);
  if (foreign <= partly_foreign) return {};
  return Observation{foreign > mostly_foreign ? Concern::wrong : Concern::doubt, foreign,
                     partly_foreign,
                     fmt::format("{} of {} rows are no launch of {}",
                                 std::llround(foreign * static_cast<double>(report.size())),
                                 report.size(), match.step)};
}

std::optional<Observation> counters_of_another_gpu(const Evidence& e) {
  if (e.counters == nullptr || !e.run.gpu) return {};
  const CounterReport& report = e.counters->report;
  const std::int64_t rows = rows_of_another_gpu(report, counted_gpu(*e.run.gpu));
  if (rows == 0) return {};
  return Observation{
      Concern::wrong, static_cast<double>(rows) / static_cast<double>(report.size()), 0,
      fmt::format("{} of {} rows are not of {}", rows, report.size(), e.run.gpu->display_name)};
}

std::optional<Observation> impossible_counters(const Evidence& e) {
  if (e.counters == nullptr) return {};
  const std::int64_t counters = e.counters->report.losses.count("impossible_counters");
  if (counters == 0) return {};
  return Observation{Concern::wrong, static_cast<double>(counters), 0,
                     fmt::format("{} rows", e.counters->report.size())};
}

std::optional<Observation> counters_at_another_clock(const Evidence& e) {
  if (e.counters == nullptr) return {};
  const auto& [report, match] = *e.counters;
  double counted = 0;
  double traced = 0;
  for (std::size_t k = 0; k < match.kernels.size(); ++k) {
    if (match.kernels[k].quality != MatchQuality::exact) continue;
    for (const std::uint32_t row : match.rows.of(k)) {
      const double ns = report.value(Counter::duration_ns, row);
      if (std::isnan(ns)) continue;
      counted += ns * 1e-3;
      traced += to_us(e.run.trace.activities.duration[match.kernels[k].activity]);
    }
  }
  if (counted <= 0 || traced <= 0) return {};
  const double ratio = std::max(counted / traced, traced / counted);
  if (ratio <= e.limits.counters_clock) return {};
  return Observation{
      Concern::doubt, ratio, e.limits.counters_clock,
      fmt::format("matched kernels: {:.1f} us counted, {:.1f} us traced", counted, traced)};
}

}  // namespace tandem
