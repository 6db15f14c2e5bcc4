// TensorFlow's operands as models read them: images and filters in PyTorch's order of dimensions
// (the strides keep that of memory), arguments where the row of the operation says.
#pragma once

#include "workloads/network.h"

namespace tandem {

/// Whether all that an operation makes, or, if it makes nothing, all that it reads, is host memory.
bool uses_host_memory(const Network& network, const NetworkOp& op);

/// Rewrites what bind_network made of the file's row: sizes and axes in host memory are no operands
/// of the device; where the row says `images_last` or `transposes`, tensors become views in the
/// order of the row, whose words are then the positions of `operands`.
void order_operands(const Network& network, const NetworkOp& op, BoundOp& bound);

}  // namespace tandem
