// Kernels of several streams share the SMs.
#pragma once

#include <span>

#include "models/runtime/step.h"

namespace tandem {

/// Sets DeviceWork::pool_share of a step whose work runs on several streams. `pool_share`: per
/// activity of the step, the share of the device's places for blocks that its grid fills, 0..1.
/// Kernels that overlapped others in `traced` are left out: their duration holds the wait for
/// places already. The ones that ran alone slow down where they now meet.
void share_sm_pool(const Trace& traced, std::span<const double> pool_share, Step& step);

}  // namespace tandem
