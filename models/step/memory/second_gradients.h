// What gradients that are differentiated again keep for their own gradients.
#pragma once

#include "models/step/dataflow.h"

namespace tandem {

/// Whether the gradient of an operation of the backward pass reads this operand. Products read each
/// other's factors, gradients of curves both what they were given and what was kept for them, those
/// of straight pieces only the latter; sums, copies and scales by a number nothing.
bool keeps_for_gradient(const Dataflow& flow, const FlowOp& op, const FlowUse& use);

}  // namespace tandem
