// Sums, and gradients of embedding tables.
#pragma once

#include <optional>

#include "models/whatif/batch/kernel.h"

namespace tandem {

KernelScaling reduction_scaling(const BatchChange& change, const BatchKernel& kernel,
                                const OpTensors& target);

/// Of the kernels that make the gradients of a row norm's scale and shift; nothing where the
/// framework sums them as it did, or the rule does not explain the traced kernel.
std::optional<KernelScaling> row_sums_scaling(const BatchChange& change, const BatchKernel& kernel);

KernelScaling embedding_scaling(const BatchChange& change, const BatchKernel& kernel,
                                const OpTensors& target);

/// How the framework cuts a sum at the new batch; nothing where its rule does not explain the
/// traced launch.
std::optional<SumGrid> resized_sum(const BatchChange& change, const BatchKernel& kernel,
                                   const OpTensors& target);

}  // namespace tandem
