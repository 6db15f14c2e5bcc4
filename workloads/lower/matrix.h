// Products for the recipes that need one. Internal to workloads/lower.
#pragma once

#include "workloads/lower/parts.h"

namespace tandem::lowering {

/// The library's typical kernel for what a time law chose.
LoweredKernel matrix_kernel(const Context& c, const KernelTime& time, KernelFamily family,
                            DataType type, Pass pass);

/// A product, and the sum of its parts where the library splits it; [0] of the rule is that sum.
void add_product(const Context& c, const GemmShape& shape, Kernels& out, bool may_split = true);

}  // namespace tandem::lowering
