// The energy model applied to one simulated step.
#pragma once

#include <optional>
#include <vector>

#include "models/energy/energy_config.h"
#include "models/energy/power_limit.h"
#include "models/step/slowdown.h"
#include "sim/predict/stages/simulated_step.h"

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

/// A step of a run on a GPU; `launches` are those of the step.
struct StepOnGpu {
  const TracedRun& run;
  const GpuArch& gpu;
  const Step& step;
  const TraceLaunches& launches;
};

/// While the board holds the SMs at `clock`, a share of the GPU's. Nothing for a GPU without energy
/// constants, which is counted as a loss.
std::optional<StepDemand> step_demand(const StepOnGpu& in, const SimulatedStep& simulated,
                                      double clock, LossList& losses);

PricedStep price_step(const StepDemand& demand, const SimulatedStep& simulated, LossList& losses);

/// A step whose clock the board lowers.
struct SlowerStep {
  LimitedPower power;
  std::vector<Slowdown> slowdowns;  // per work of the plan, at that clock
};

/// What the limit of the board's power makes of the simulated step, or nothing where it is not
/// reached. Meant for predicted durations: measured ones hold the slowdown already. Where the step
/// was `measured` on this GPU, no prediction is slowed down for less than the power that the model
/// gives it, for the board did that work in the traced time.
std::optional<SlowerStep> limited_power(const StepOnGpu& in, const StepDemand& demand,
                                        const SimulatedStep& simulated, bool measured);

}  // namespace tandem
