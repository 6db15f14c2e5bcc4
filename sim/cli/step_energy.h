// The energy model applied to one step.
#pragma once

#include "models/kernel/launch_from_trace.h"
#include "sim/cli/replay.h"

namespace tandem {

/// Adds energy, power and their breakdown to the result, and to the counters of the step the
/// dynamic energy of each piece of work. `launches` are those of the step. A GPU without energy
/// constants is counted as a loss.
void add_energy(const Analysis& analysis, const TraceLaunches& launches, Prediction& prediction);

}  // namespace tandem
