// How much longer the works of a step take while the SMs run at a lower clock: the one law of the
// what-if of a locked clock and of the limit of the board's power.
#pragma once

#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/time/kernel_time.h"
#include "models/step/launches.h"
#include "models/step/step.h"

namespace tandem {

/// The GPU while its SMs are held at `mhz`. A long load on the tensor cores no longer lowers a
/// clock below the one that it holds itself. Memory has a clock of its own.
GpuArch locked_at(GpuArch gpu, double mhz);

/// The GPU while the board lowers all clocks of its SMs to `share`, that of a long load as well.
GpuArch lowered_to(GpuArch gpu, double share);

/// Time at the lower clock over time before. What the bytes of a kernel explain of its time stays,
/// the rest follows the clock, as between two GPUs (residual.h); no kernel issues its instructions
/// or multiplies faster than the lower clock lets it.
struct Slowdown {
  double ratio = 1;    // at least 1
  double error = 0;    // of the ratio
  bool known = false;  // false: no law, the time stays
};

/// What is known of any kernel.
struct KernelLaws {
  const TimeConstants& time;
  const CostConstants& costs;
};

/// Of each work of the step's plan; copies and memsets stay. `launches` are those of the step;
/// of a time at most `floor_share` is its launch floor.
std::vector<Slowdown> slowdowns(const Step& step, const TraceLaunches& launches,
                                const GpuArch& before, const GpuArch& after, const KernelLaws& laws,
                                double floor_share);

/// The step with each work of its plan that much longer.
void slow_down(Step& step, const std::vector<Slowdown>& slowdowns);

}  // namespace tandem
