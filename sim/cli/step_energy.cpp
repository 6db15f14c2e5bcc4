#include "sim/cli/step_energy.h"

#include <algorithm>
#include <vector>

#include "models/energy/energy_config.h"
#include "models/kernel/cost_model.h"
#include "models/kernel/launch_from_trace.h"

namespace tandem {

namespace {

constexpr double sector_bytes = 32;
constexpr double wavefront_bytes = 128;

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
  s.instructions_j = energy.parts.instructions_j;
  s.other_j = energy.parts.other_j;
  s.estimated_share = energy.estimated_share;
  return s;
}

/// Overlapping work shares the SMs.
std::vector<EnergyWork> energy_works(const Analysis& a, const TraceLaunches& launches,
                                     const Prediction& p) {
  const std::vector<DeviceWork>& plan = p.step.plan.works;
  std::vector<KernelLaunch> works;
  std::vector<WorkSpan> spans;
  for (std::size_t w = 0; w < plan.size(); ++w) {
    works.push_back(launches.launch(plan[w].source));
    works.back().duration_us = to_us(plan[w].duration);
    spans.push_back({to_us(p.isolated_timeline.work_begin[w]), to_us(plan[w].duration),
                     sm_share(works.back(), *p.target)});
  }
  const std::vector<double> shared = time_shared(spans);
  CostCache costs(*p.target, a.configs.costs, CacheState::cold);
  std::vector<EnergyWork> energy;
  energy.reserve(works.size());
  for (std::size_t w = 0; w < works.size(); ++w) {
    const auto bytes = static_cast<double>(p.step.trace.activities.bytes[plan[w].source]);
    const KernelCost cost = costs.cost(launches.shape_of(plan[w].source), works[w]);
    energy.push_back(
        energy_work(works[w], cost, *p.target, a.configs.work_rules, shared[w], bytes));
    energy.back().begin_us = spans[w].begin_us;
  }
  return energy;
}

}  // namespace

void add_energy(const Analysis& a, const TraceLaunches& launches, Prediction& p) {
  const GpuArch& gpu = *p.target;
  EnergyConfig config;
  try {
    config = find_energy(a.configs.energies, gpu);
  } catch (const InputError& error) {
    p.result.losses.add("no_energy_model", Severity::info,
                        std::string("no energy was computed: ") + error.what());
    return;
  }
  const std::vector<EnergyWork> works = energy_works(a, launches, p);
  StepEnergy energy = trace_energy(config.trace, works, p.result.step.time_us);
  const double span_us = to_us(p.isolated_timeline.end - TimePoint{});
  for (const PowerPoint& point : power_over_time(config.trace, works, span_us)) {
    p.power.push_back({point.time_us, point.power_w});
  }
  MemoryAccesses accesses;
  for (std::size_t w = 0; w < works.size(); ++w) {
    WorkCounters& c = p.step_counters[p.step.plan.works[w].source];
    c.energy_j = total_j(work_energy(config.trace, works[w]));
    accesses += accesses_served(c.l1_bytes / sector_bytes, c.l2_bytes / sector_bytes,
                                (c.dram_read_bytes + c.dram_write_bytes) / sector_bytes,
                                c.shared_bytes / wavefront_bytes);
  }
  const DataMovement movement = data_movement_lower_bound(config.access, accesses);
  split_levels(energy.parts, movement);
  p.result.energy = summarize(energy);
  p.result.energy->lower_bound_data_movement_j = movement.total_j;
  p.result.energy->lower_bound_error_j = movement.error_j;
}

bool limited_by_sms(const WorkCounters& work) {
  return work.family == "gemm" || work.family == "convolution" || work.family == "attention";
}

LimitedPower limited_power(const Analysis& a, const TraceLaunches& launches, const Prediction& p) {
  EnergyConfig config;
  try {
    config = find_energy(a.configs.energies, *p.target);
  } catch (const InputError&) {
    return {};  // add_energy() counts it
  }
  const std::vector<EnergyWork> works = energy_works(a, launches, p);
  PowerDemand demand;
  demand.static_w = config.trace.static_w;
  for (std::size_t w = 0; w < works.size(); ++w) {
    const EnergyBreakdown e = work_energy(config.trace, works[w]);
    demand.memory_j += e.dram_j;
    demand.sm_j += total_j(e) - e.dram_j;
    const WorkCounters& c = p.step_counters[p.step.plan.works[w].source];
    if (limited_by_sms(c)) demand.sm_us += works[w].duration_us;
  }
  demand.sm_us = std::min(demand.sm_us, p.result.step.time_us);
  demand.other_us = p.result.step.time_us - demand.sm_us;
  return limit_power(demand, config.trace.power_limit_w, a.configs.work_rules.clock_exponent);
}

}  // namespace tandem
