// Kernels of several streams share the SMs of a scenario.
#pragma once

#include <span>

#include "models/runtime/traced_pool.h"
#include "models/step/step.h"

namespace tandem {

/// The plan of a step whose kernels share the SMs where they meet: durations are those they have
/// alone, waits for places in the traced run are dropped, and DeviceWork::pool_share is set.
/// `share`: per activity of the step, in the scenario. A step on one stream stays as it is.
Plan share_sm_pool(const TracedPool& traced, std::span<const double> share, const Step& step);

}  // namespace tandem
