// The kernels that a compiler generates for a fused group.
#pragma once

#include <vector>

#include "models/whatif/compile/kernels/generated_kernel.h"

namespace tandem {

/// Kernels of `group` in the order in which they run.
std::vector<GeneratedKernel> group_kernels(const KernelContext& context, const FusionGroup& group);

}  // namespace tandem
