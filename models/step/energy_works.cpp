#include "models/step/energy_works.h"

#include <algorithm>

#include "models/kernel/counters/cost_model.h"

namespace tandem {

std::vector<EnergyWork> energy_works(const Trace& trace, const TraceLaunches& launches,
                                     const GpuArch& gpu, const CostConstants& costs,
                                     const WorkRules& rules,
                                     std::span<const std::uint32_t> activities, TimePoint origin) {
  const Activities& acts = trace.activities;
  std::vector<WorkSpan> spans;
  spans.reserve(activities.size());
  for (const std::uint32_t a : activities) {
    const KernelLaunch launch = launches.launch(a);
    spans.push_back({to_us(acts.begin[a] - origin), launch.duration_us, sm_share(launch, gpu)});
  }
  const std::vector<double> shared = time_shared(spans);
  CostCache cache(gpu, costs);
  std::vector<EnergyWork> works;
  works.reserve(activities.size());
  for (std::size_t i = 0; i < activities.size(); ++i) {
    const std::uint32_t a = activities[i];
    const KernelLaunch launch = launches.launch(a);
    works.push_back(energy_work(launch, cache.cost(launches.shape_of(a), launch), gpu, rules,
                                shared[i], static_cast<double>(acts.bytes[a])));
    works.back().begin_us = spans[i].begin_us;
  }
  return works;
}

std::vector<std::uint32_t> activities_of_step(const Trace& trace, const Links& links,
                                              const StepWindow& step) {
  const auto& calls = links.call_of_activity;
  // Work without a call was launched before the profiler began, unless no call is recorded at all.
  const bool by_call =
      std::any_of(calls.begin(), calls.end(), [](std::uint32_t call) { return call != no_row; });
  std::vector<std::uint32_t> rows;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    if (by_call && calls[a] == no_row) continue;
    const TimePoint at = by_call ? trace.calls.begin[calls[a]] : trace.activities.begin[a];
    if (at >= step.begin && at < step.end) rows.push_back(a);
  }
  return rows;
}

}  // namespace tandem
