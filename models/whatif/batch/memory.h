// Bytes of kernels that the memory system bounds.
#pragma once

#include "models/whatif/batch/kernel.h"

namespace tandem {

MemoryClass memory_class(const BatchKernel& kernel);

/// Bytes that the kernel touches. Operands that do not grow count only where `with_fixed`: tables
/// that rows are gathered from do not.
double touched_bytes(const BatchKernel& kernel, const OpTensors& tensors, bool with_fixed);

KernelScaling memory_scaling(const BatchChange& change, const BatchKernel& kernel,
                             const OpTensors& target);

/// A layout transform of a convolution's weights: those have no image dimension.
bool transforms_weights(const BatchKernel& kernel);

}  // namespace tandem
