// The energy model applied to one step.
#pragma once

#include "sim/cli/replay.h"

namespace tandem {

/// Adds energy, power and their breakdown to the result. `isolated` starts with the step's works;
/// work that overlaps there shares the SMs. `trace` has the rows of the analysis. A
/// GPU without energy constants is counted as a loss.
void add_energy(const Analysis& analysis, const Trace& trace, const Plan& step,
                const Timeline& isolated, const ReplayOptions& options, Result& result);

}  // namespace tandem
