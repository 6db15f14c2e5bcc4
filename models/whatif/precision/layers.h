// Convolution layers in another type where single layers were measured: the library may run them
// another way.
#pragma once

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Retimes and renames the kernels of a convolution. False, and nothing done, where no measured
/// layer tells: another GPU, other ranks than images have, transposed convolutions, images in
/// channels-last order.
bool retype_layer(TypedStep& s, const FlowOp& op, DataType from, DataType to);

/// What the rules say of a convolution whose kernels ratios have retimed: it is stated where they
/// explain how it was traced.
void state_ruled_switches(TypedStep& s, const FlowOp& op, DataType from, DataType to);

}  // namespace tandem
