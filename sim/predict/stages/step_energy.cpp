#include "sim/predict/stages/step_energy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/kernel/counters/cost_model.h"
#include "models/step/energy_works.h"
#include "models/step/launches.h"
#include "sim/core/units.h"

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
  s.instructions_j = energy.parts.instructions_j;
  s.other_j = energy.parts.other_j;
  s.estimated_share = energy.estimated_share;
  return s;
}

/// Overlapping work shares the SMs.
std::vector<EnergyWork> energy_works(const StepOnGpu& in, const SimulatedStep& simulated) {
  const std::vector<DeviceWork>& plan = simulated.plan.works;
  // Made twice rather than kept: a launch takes more memory than all that is known of its work.
  const auto launch_of = [&](std::size_t w) {
    KernelLaunch launch = in.launches.launch(plan[w].source);
    launch.duration_us = to_us(plan[w].duration);
    return launch;
  };
  std::vector<WorkSpan> spans;
  spans.reserve(plan.size());
  for (std::size_t w = 0; w < plan.size(); ++w) {
    spans.push_back({to_us(simulated.isolated_timeline.work_begin[w]), to_us(plan[w].duration),
                     sm_share(launch_of(w), in.gpu)});
  }
  const std::vector<double> shared = time_shared(spans);
  CostCache costs(in.gpu, in.run.configs.costs);
  std::vector<EnergyWork> energy;
  energy.reserve(plan.size());
  for (std::size_t w = 0; w < plan.size(); ++w) {
    const auto bytes = static_cast<double>(in.step.trace.activities.bytes[plan[w].source]);
    const KernelLaunch launch = launch_of(w);
    const KernelCost cost = costs.cost(in.launches.shape_of(plan[w].source), launch);
    energy.push_back(
        energy_work(launch, cost, in.gpu, in.run.configs.work_rules, shared[w], bytes));
    energy.back().begin_us = spans[w].begin_us;
  }
  return energy;
}

/// The target's full clock over that of the chip that its constants are of.
double clock_share(const EnergyConfig& config, const GpuArch& gpu) {
  return gpu.boost_clock_mhz / config.clock_mhz;
}

/// Constants of the target at its clock; those of another chip, or of this one with other numbers,
/// are known less well.
EnergyConfig energy_of(const TracedRun& a, const GpuArch& gpu) {
  EnergyConfig config = find_energy(a.configs.energies, gpu);
  const bool overridden = std::any_of(gpu.origins.begin(), gpu.origins.end(),
                                      [](const Provenance& p) { return p.overridden; });
  if (overridden || config.of_base) widen(config, a.configs.retarget.energy_constants);
  const double share = clock_share(config, gpu);
  if (share != 1) {
    const ClockEnergy& law = a.configs.work_rules.clock;
    config.trace = at_clock(std::move(config.trace), share, law);
    config.access = at_clock(std::move(config.access), share, law);
  }
  return config;
}

/// Constants at the clock that the board lowers its SMs to, `share` of the target's.
EnergyConfig lowered(EnergyConfig config, const StepOnGpu& in, double share) {
  const ClockEnergy law = in.run.configs.work_rules.clock.of_clock(clock_share(config, in.gpu));
  config.trace = at_clock(std::move(config.trace), share, law);
  config.access = at_clock(std::move(config.access), share, law);
  return config;
}

/// Power that the model gives the traced step while the device works, whatever the limit.
double traced_power_w(const TracedRun& a, const TraceEnergyModel& model) {
  const Trace& trace = a.traced_step.trace;
  std::vector<std::uint32_t> rows;
  TimePoint begin = TimePoint::max(), end = TimePoint::min();
  for (const DeviceWork& work : a.traced_step.plan.works) {
    rows.push_back(work.source);
    const TimePoint at = trace.activities.begin[work.source];
    begin = std::min(begin, at);
    end = std::max(end, at + trace.activities.duration[work.source]);
  }
  const TraceLaunches launches(a.traced_step);
  double dynamic_j = 0;
  for (const EnergyWork& work :
       energy_works(trace, launches, *a.gpu, a.configs.costs, a.configs.work_rules, rows, begin)) {
    dynamic_j += total_j(work_energy(model, work));
  }
  return model.static_w + (end > begin ? dynamic_j / (to_us(end - begin) * 1e-6) : 0);
}

/// What the works ask of the board. The time that follows the clock is that which does at `share`
/// of it.
PowerDemand power_demand(const StepDemand& demand, const SimulatedStep& simulated,
                         const std::vector<Slowdown>& slower, double share) {
  PowerDemand out;
  out.static_w = demand.config.trace.static_w;
  for (std::size_t w = 0; w < demand.works.size(); ++w) {
    const EnergyBreakdown e = work_energy(demand.config.trace, demand.works[w]);
    const double follows = std::min(1.0, (slower[w].ratio - 1) / (1 / share - 1));
    const double waiting_j = e.other_j * (1 - follows);
    out.memory_j += e.dram_j;
    out.waiting_j += waiting_j;
    out.sm_j += total_j(e) - e.dram_j - waiting_j;
    out.sm_us += demand.works[w].duration_us * follows;
  }
  out.sm_us = std::min(out.sm_us, simulated.metrics.time_us);
  out.other_us = simulated.metrics.time_us - out.sm_us;
  return out;
}

/// The clock within a limit, by the slowdown at the clock that was found the last time. The
/// slowdown changes little with the clock, so a few times do.
SlowerStep power_within(const StepOnGpu& in, const StepDemand& demand,
                        const SimulatedStep& simulated, double limit_w) {
  constexpr double first_share = 0.9, close = 1e-3;
  constexpr int most_times = 5;
  const ClockEnergy energy =
      in.run.configs.work_rules.clock.of_clock(clock_share(demand.config, in.gpu));
  SlowerStep out;
  double share = first_share;
  for (int i = 0; i < most_times; ++i) {
    out.slowdowns = slowdowns(in.step, in.launches, in.gpu, lowered_to(in.gpu, share),
                              {in.run.configs.time, in.run.configs.costs},
                              in.run.configs.batch.floor_share_memory);
    out.power = limit_power(power_demand(demand, simulated, out.slowdowns, share), limit_w, energy);
    const double found = out.power.clock_share;
    if (found >= 1 || std::abs(found - share) < close) break;
    share = found;
  }
  return out;
}

}  // namespace

std::optional<StepDemand> step_demand(const StepOnGpu& in, const SimulatedStep& simulated,
                                      double clock, LossList& losses) {
  try {
    EnergyConfig config = energy_of(in.run, in.gpu);
    if (clock < 1) config = lowered(std::move(config), in, clock);
    return StepDemand{std::move(config), energy_works(in, simulated)};
  } catch (const InputError& error) {
    losses.add("no_energy_model", Severity::info,
               std::string("no energy was computed: ") + error.what());
    return {};
  }
}

PricedStep price_step(const StepDemand& demand, const SimulatedStep& simulated, LossList& losses) {
  const auto& [config, works] = demand;
  PricedStep out;
  StepEnergy energy = trace_energy(config.trace, works, simulated.metrics.time_us);
  const double kept = 1 - energy.cut_share;  // of every work alike, so that they sum to the step's
  losses.add("power_above_limit", Severity::warning,
             "the energy model gives the step more power than its board may draw: it is cut to the "
             "limit, and how the parts divide it is less sure",
             energy.cut_share > config.trace.model_error ? 1 : 0);
  const double span_us = to_us(simulated.isolated_timeline.end - TimePoint{});
  for (const PowerPoint& point : power_over_time(config.trace, works, span_us)) {
    out.power.push_back({point.time_us, point.power_w});
  }
  MemoryAccesses accesses;
  for (std::size_t w = 0; w < works.size(); ++w) {
    const WorkCounters& c = simulated.counters[simulated.plan.works[w].source];
    out.dynamic_j.push_back(kept * total_j(work_energy(config.trace, works[w])));
    accesses += accesses_served(c.l1_bytes / sector_bytes, c.l2_bytes / sector_bytes,
                                (c.dram_read_bytes + c.dram_write_bytes) / sector_bytes,
                                c.shared_bytes / wavefront_bytes);
  }
  const DataMovement movement = data_movement_lower_bound(config.access, accesses);
  if (movement.total_j > energy.energy_j - energy.parts.static_j) {
    losses.add("movement_bound_exceeds_energy", Severity::info,
               "the lower bound of data movement is more than all dynamic energy that was "
               "predicted: counted traffic, energy per access and power contradict each "
               "other on this GPU");
  }
  split_levels(energy.parts, movement);
  out.energy = summarize(energy);
  out.energy.lower_bound_data_movement_j = movement.total_j;
  out.energy.lower_bound_error_j = movement.error_j;
  return out;
}

std::optional<SlowerStep> limited_power(const StepOnGpu& in, const StepDemand& demand,
                                        const SimulatedStep& simulated, bool measured) {
  const double limit_w = demand.config.trace.power_limit_w;
  SlowerStep slower = power_within(in, demand, simulated, limit_w);
  if (slower.power.clock_share < 1 && measured) {
    const double proved_w = traced_power_w(in.run, energy_of(in.run, *in.run.gpu).trace);
    if (proved_w > limit_w) slower = power_within(in, demand, simulated, proved_w);
  }
  if (slower.power.clock_share < 1) return slower;
  return {};
}

}  // namespace tandem
