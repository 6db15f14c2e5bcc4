// The energy model applied to one simulated step.
#pragma once

#include <optional>
#include <vector>

#include "models/energy/energy_config.h"
#include "models/energy/power_limit.h"
#include "sim/predict/simulated_step.h"

namespace tandem {

/// What the works of a simulated step ask of the board, and the constants that price it.
struct StepDemand {
  EnergyConfig config;
  std::vector<EnergyWork> works;  // as in the plan of the step
};

/// Energy and power of a simulated step.
struct PricedStep {
  EnergySummary energy;
  std::vector<double> dynamic_j;  // per work of the plan
  std::vector<BoardPower> power;  // over the isolated step
};

/// Nothing for a GPU without energy constants, which is counted as a loss. `launches` are those of
/// the step.
std::optional<StepDemand> step_demand(const TracedRun& run, const GpuArch& gpu, const Step& step,
                                      const TraceLaunches& launches, const SimulatedStep& simulated,
                                      LossList& losses);

PricedStep price_step(const StepDemand& demand, const SimulatedStep& simulated, LossList& losses);

/// What the limit of the board's power makes of the simulated step, or nothing where it is not
/// reached. Meant for predicted durations: measured ones hold the slowdown already. On the traced
/// GPU (`same_gpu`) no prediction is slowed down for less than the power that the model gives the
/// traced step, for the board did that work in the traced time.
std::optional<LimitedPower> limited_power(const TracedRun& run, const StepDemand& demand,
                                          const SimulatedStep& simulated, bool same_gpu);

/// The step at a lower clock: kernels that the SMs limit take longer. `share`: of the full clock.
Step slowed_down(Step step, const std::vector<WorkCounters>& counters, double share);

}  // namespace tandem
