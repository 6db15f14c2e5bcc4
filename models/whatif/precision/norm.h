// Batch norm in another type: the library's kernels, and the framework's own for BF16.
#pragma once

#include <cstdint>

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Batch norm of the framework itself, and training batch norm of the library.
bool is_native_norm(const KernelTraits& kernel);
bool is_library_norm(const KernelTraits& kernel);
/// Whether the framework's own kernels normalize channels of `type`: the library takes no BF16, and
/// FP16 only beside weights in FP32 (PyTorch 2.11, native/Normalization.cpp).
bool is_normed_natively(const TypedStep& s, DataType type);

/// Operation `index` of the flow is a batch norm, forward or backward.
void retype_norm(TypedStep& s, std::uint32_t index, DataType from, DataType to);
/// An inference norm of images in the framework's order, kernel `work`: its time alone.
void retype_inference_norm(TypedStep& s, std::uint32_t work, const NormShape& shape, DataType from,
                           DataType to);

}  // namespace tandem
