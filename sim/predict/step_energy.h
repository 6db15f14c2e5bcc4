// The energy model applied to one step.
#pragma once

#include <optional>
#include <vector>

#include "models/energy/energy_config.h"
#include "models/energy/power_limit.h"
#include "models/step/launches.h"
#include "sim/predict/predict.h"

namespace tandem {

/// What the works of a simulated step ask of the board, and the constants that price it.
struct StepDemand {
  EnergyConfig config;
  std::vector<EnergyWork> works;  // as in the plan of the step
};

/// Nothing for a GPU without energy constants, which is counted as a loss of the prediction.
/// `launches` are those of the step.
std::optional<StepDemand> step_demand(const Analysis& analysis, const TraceLaunches& launches,
                                      Prediction& prediction);

/// Adds energy, power and their breakdown to the result, and to the counters of the step the
/// dynamic energy of each piece of work.
void add_energy(const StepDemand& demand, Prediction& prediction);

/// What a limit of the board's power makes of the simulated step. Meant for predicted durations:
/// measured ones hold the slowdown already.
LimitedPower limited_power(const StepDemand& demand, const Analysis& analysis, double limit_w,
                           const Prediction& prediction);

/// Power that the model gives the traced step while the device works, whatever the limit. The board
/// did that work in the traced time, so that no prediction on the same GPU is slowed down for less.
/// `model`: of the traced GPU.
double traced_power_w(const Analysis& analysis, const TraceEnergyModel& model);

/// Whether the clock of the SMs decides how long a kernel takes.
bool limited_by_sms(const WorkCounters& work);

}  // namespace tandem
