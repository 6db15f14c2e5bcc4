#include "sim/cli/step_energy.h"

#include <vector>

#include "models/energy/energy_config.h"
#include "models/kernel/launch_from_trace.h"

namespace tandem {

namespace {

EnergySummary summarize(const StepEnergy& energy) {
  EnergySummary s;
  s.energy_j = energy.energy_j;
  s.average_power_w = energy.average_power_w;
  s.error_j = energy.error_j;
  s.static_j = energy.parts.static_j;
  s.dram_j = energy.parts.dram_j;
  s.l2_j = energy.parts.l2_j;
  s.l1_j = energy.parts.l1_j;
  s.shared_j = energy.parts.shared_j;
  s.compute_j = energy.parts.compute_j;
  s.tensor_j = energy.parts.tensor_j;
  s.other_j = energy.parts.other_j;
  s.estimated_share = energy.estimated_share;
  return s;
}

}  // namespace

void add_energy(const Analysis& a, const GpuArch& gpu, const Step& step,
                const TraceLaunches& launches, const Timeline& isolated, Result& result) {
  const std::string folder = a.configs.folder + "/energy";
  EnergyConfig config;
  try {
    config = find_energy(folder, gpu);
  } catch (const InputError& error) {
    result.losses.add("no_energy_model", Severity::info,
                      std::string("no energy was computed: ") + error.what());
    return;
  }
  std::vector<KernelLaunch> works;
  std::vector<WorkSpan> spans;
  const std::vector<DeviceWork>& plan = step.plan.works;
  for (std::size_t w = 0; w < plan.size(); ++w) {
    works.push_back(launches.launch(plan[w].source));
    works.back().duration_us = to_us(plan[w].duration);
    spans.push_back(
        {to_us(isolated.work_begin[w]), to_us(plan[w].duration), sm_share(works.back(), gpu)});
  }
  const std::vector<double> shared = time_shared(spans);
  std::vector<EnergyWork> energy;
  energy.reserve(works.size());
  for (std::size_t w = 0; w < works.size(); ++w) {
    const auto bytes = static_cast<double>(step.trace.activities.bytes[plan[w].source]);
    energy.push_back(energy_work(works[w], gpu, a.configs.work_rules, shared[w], bytes));
  }
  result.energy = summarize(trace_energy(config.trace, energy, result.step.time_us));
}

}  // namespace tandem
