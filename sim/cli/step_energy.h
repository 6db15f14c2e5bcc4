// The energy model applied to one step.
#pragma once

#include "models/kernel/launch_from_trace.h"
#include "sim/cli/replay.h"

namespace tandem {

/// Adds energy, power and their breakdown to the result. `isolated` starts with the step's works;
/// work that overlaps there shares the SMs. `launches` are those of `step`. A GPU without energy
/// constants is counted as a loss.
void add_energy(const Analysis& analysis, const GpuArch& gpu, const Step& step,
                const TraceLaunches& launches, const Timeline& isolated, Result& result);

}  // namespace tandem
