// Products that run in 16 bits only because a compiler takes the gradients down under autocast.
#pragma once

#include "models/step/dataflow.h"

namespace tandem {

/// Eager gradients have the type of their operation, also where that computes in FP32 inside of
/// autocast (attention by products). A compiler writes the backward graph down operation by
/// operation while autocast is on (AOTAutograd), which lowers every product in it: results of
/// such products, and gradients that they alone read, get the type of autocast. Nothing happens in
/// a step without autocast.
void lower_backward_products(Dataflow& flow);

/// Whether it did so with this product.
bool is_lowered(const Trace& trace, const Dataflow& flow, const FlowOp& op);

}  // namespace tandem
