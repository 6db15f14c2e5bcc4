#include "sim/metrics/overlap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem {

double capped_busy_us(const Timeline& run, std::span<const double> busy_us) {
  std::vector<std::pair<TimePoint, double>> changes;
  for (std::size_t w = 0; w < busy_us.size(); ++w) {
    const double length_us = to_us(run.work_end[w] - run.work_begin[w]);
    if (length_us <= 0 || busy_us[w] <= 0) continue;
    changes.emplace_back(run.work_begin[w], busy_us[w] / length_us);
    changes.emplace_back(run.work_end[w], -busy_us[w] / length_us);
  }
  std::sort(changes.begin(), changes.end());
  double sum_us = 0;
  double level = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i > 0) sum_us += std::min(level, 1.0) * to_us(changes[i].first - changes[i - 1].first);
    level += changes[i].second;
  }
  return sum_us;
}

namespace {

/// Cuts what cannot be more than `most`; whether that took more than rounding.
bool cut(double most, double& counter) {
  constexpr double rounding = 1e-6;
  const bool too_many = counter > most * (1 + rounding);
  counter = std::min(counter, most);
  return too_many;
}

}  // namespace

bool cap_overlap(std::span<const WorkCounters> works, const Timeline& run, const GpuScale& gpu,
                 double span_us, GpuMetrics& step) {
  const double cycles_per_us = gpu.sm_count * gpu.smsp_per_sm * gpu.clock_mhz;
  if (cycles_per_us <= 0 || span_us <= 0) return false;
  std::vector<double> busy_us;
  busy_us.reserve(works.size());
  for (const WorkCounters& work : works) busy_us.push_back(work.smsp_active_cycles / cycles_per_us);
  step.smsp_active_cycles = capped_busy_us(run, busy_us) * cycles_per_us;
  step.smsp_active_utilization = std::min(1.0, step.smsp_active_cycles / (cycles_per_us * span_us));
  step.smact = step.smsp_active_utilization;
  const double cycles = cycles_per_us * span_us;
  bool too_many = cut(step.smsp_active_cycles, step.smsp_issue_cycles);
  too_many = cut(step.smsp_active_cycles, step.tc_active_cycles) || too_many;
  too_many = cut(step.smsp_issue_cycles, step.tc_issue_cycles) || too_many;
  step.smsp_issue_utilization =
      std::min(step.smsp_issue_utilization, step.smsp_issue_cycles / cycles);
  step.tc_issue_utilization = std::min(step.tc_issue_utilization, step.tc_issue_cycles / cycles);
  step.tc_active_utilization = std::min(step.tc_active_utilization, step.tc_active_cycles / cycles);
  step.tenso = std::min(step.tenso, step.tc_active_utilization);
  return too_many;
}

}  // namespace tandem
