// Kernels whose threads add up over the batch, and gradients of embedding tables.
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

/// Blocks that share one output of a reduction over the batch, by the framework's own rule; 0 where
/// the kernel does not reduce over the batch.
std::int64_t blocks_per_output(const BatchChange& change, const BatchKernel& kernel,
                               const OpTensors& tensors);

}  // namespace tandem
