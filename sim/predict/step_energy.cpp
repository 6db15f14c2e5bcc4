#include "sim/predict/step_energy.h"

#include <algorithm>
#include <vector>

#include "models/kernel/counters/cost_model.h"
#include "models/step/energy_works.h"
#include "models/step/launches.h"

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

/// Constants of the target; those of another chip, or of this one with other numbers, are known
/// less well.
EnergyConfig energy_of(const Analysis& a, const GpuArch& gpu) {
  EnergyConfig config = find_energy(a.configs.energies, gpu);
  const bool overridden =
      std::any_of(gpu.origins.begin(), gpu.origins.end(),
                  [](const Provenance& p) { return p.source.starts_with("override: "); });
  if (overridden || config.of_base) widen(config, a.configs.retarget.errors.energy_constants);
  return config;
}

}  // namespace

std::optional<StepDemand> step_demand(const Analysis& a, const TraceLaunches& launches,
                                      Prediction& p) {
  try {
    return StepDemand{energy_of(a, *p.target), energy_works(a, launches, p)};
  } catch (const InputError& error) {
    p.result.losses.add("no_energy_model", Severity::info,
                        std::string("no energy was computed: ") + error.what());
    return {};
  }
}

void add_energy(const StepDemand& demand, Prediction& p) {
  const auto& [config, works] = demand;
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
  if (movement.total_j > energy.energy_j - energy.parts.static_j) {
    p.result.losses.add("movement_bound_exceeds_energy", Severity::info,
                        "the lower bound of data movement is more than all dynamic energy that was "
                        "predicted: counted traffic, energy per access and power contradict each "
                        "other on this GPU");
  }
  split_levels(energy.parts, movement);
  p.result.energy = summarize(energy);
  p.result.energy->lower_bound_data_movement_j = movement.total_j;
  p.result.energy->lower_bound_error_j = movement.error_j;
}

bool limited_by_sms(const WorkCounters& work) {
  return work.family == "gemm" || work.family == "convolution" || work.family == "attention";
}

LimitedPower limited_power(const StepDemand& step, const Analysis& a, double limit_w,
                           const Prediction& p) {
  const auto& [config, works] = step;
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
  return limit_power(demand, limit_w, a.configs.work_rules.clock_exponent);
}

double traced_power_w(const Analysis& a, const TraceEnergyModel& model) {
  const Trace& trace = a.traced_step.trace;
  std::vector<std::uint32_t> rows;
  TimePoint begin = TimePoint::max(), end = TimePoint::min();
  for (const DeviceWork& work : a.traced_step.plan.works) {
    rows.push_back(work.source);
    const TimePoint at = trace.activities.begin[work.source];
    begin = std::min(begin, at);
    end = std::max(end, at + trace.activities.duration[work.source]);
  }
  const TraceLaunches launches(trace, a.traced_step.links, ops_of_calls(trace).innermost);
  double dynamic_j = 0;
  for (const EnergyWork& work :
       energy_works(trace, launches, *a.gpu, a.configs.costs, a.configs.work_rules, rows, begin)) {
    dynamic_j += total_j(work_energy(model, work));
  }
  return model.static_w + (end > begin ? dynamic_j / (to_us(end - begin) * 1e-6) : 0);
}

}  // namespace tandem
