// The energy model applied to one step.
#pragma once

#include "models/energy/power_limit.h"
#include "models/kernel/launch_from_trace.h"
#include "sim/cli/replay.h"

namespace tandem {

/// Adds energy, power and their breakdown to the result, and to the counters of the step the
/// dynamic energy of each piece of work. `launches` are those of the step. A GPU without energy
/// constants is counted as a loss.
void add_energy(const Analysis& analysis, const TraceLaunches& launches, Prediction& prediction);

/// What the power limit of the scenario's GPU makes of the simulated step. Meant for durations that
/// were predicted for another GPU: measured ones hold the slowdown already.
LimitedPower limited_power(const Analysis& analysis, const TraceLaunches& launches,
                           const Prediction& prediction);

/// Whether the clock of the SMs decides how long a kernel takes.
bool limited_by_sms(const WorkCounters& work);

}  // namespace tandem
