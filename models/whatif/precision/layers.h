// Convolution layers in another type where single layers were measured: the library may run them
// another way.
#pragma once

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Retimes and renames the kernels of a convolution. False, and nothing done, where no measured
/// layer tells: another GPU, other ranks than images have, transposed convolutions, images in
/// channels-last order.
bool retype_layer(TypedStep& s, const FlowOp& op, DataType from, DataType to);

}  // namespace tandem
