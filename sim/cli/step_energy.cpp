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

void add_energy(const Analysis& a, const Trace& trace, const Plan& step, const Timeline& isolated,
                const ReplayOptions& options, Result& result) {
  if (!a.gpu) return;
  const std::string folder = options.configs + "/energy";
  EnergyConfig config;
  try {
    config = find_energy(folder, *a.gpu);
  } catch (const InputError& error) {
    result.losses.add("no_energy_model", Severity::info,
                      std::string("no energy was computed: ") + error.what());
    return;
  }
  const WorkRules rules = load_work_rules(folder + "/" + std::string(work_rules_file));
  const TraceLaunches launches(trace, a.links, ops_of_calls(trace).innermost);
  std::vector<KernelLaunch> works;
  std::vector<WorkSpan> spans;
  for (std::size_t w = 0; w < step.works.size(); ++w) {
    works.push_back(launches.launch(step.works[w].source));
    works.back().duration_us = to_us(step.works[w].duration);
    spans.push_back({to_us(isolated.work_begin[w]), to_us(step.works[w].duration),
                     sm_share(works.back(), *a.gpu)});
  }
  const std::vector<double> shared = time_shared(spans);
  std::vector<EnergyWork> energy;
  energy.reserve(works.size());
  for (std::size_t w = 0; w < works.size(); ++w) {
    const auto bytes = static_cast<double>(trace.activities.bytes[step.works[w].source]);
    energy.push_back(energy_work(works[w], *a.gpu, rules, shared[w], bytes));
  }
  result.energy = summarize(trace_energy(config.trace, energy, result.step.time_us));
}

}  // namespace tandem
