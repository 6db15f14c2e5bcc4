// Norms of channels by the framework's own kernels, which libraries leave BF16 and weights of 16
// bits to.
#pragma once

#include "models/whatif/precision/norm.h"

namespace tandem {

/// Whether a norm of channels goes from the library to the framework for want of a type, be its
/// operand in `type` already.
bool moves_norm(const TypedStep& s, const FlowOp& op, DataType type);

/// A training norm of the library, kernel `work`, of images in the framework's order. The library's
/// residual says nothing about the new kernels.
void to_native_norm(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                    DataType to);
void from_native_norm(TypedStep& s, const FlowOp& op, const NormShape& shape, DataType to);

/// Of weights in 16 bits: any norm of the library, in inference and in channels-last order, too.
void to_native_kernels(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                       DataType from, DataType to);
/// A norm with statistics that are there.
bool is_native_inference(const TypedStep& s, std::span<const std::uint32_t> works);
/// ... which the library takes again: nothing but the transform is left.
void retype_native_inference(TypedStep& s, std::uint32_t index, std::uint32_t main, DataType from,
                             DataType to);

}  // namespace tandem
