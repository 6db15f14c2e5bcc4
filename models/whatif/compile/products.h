// Products that a compiler runs otherwise than the framework: in 16 bits, because it takes the
// gradients down under autocast; an item at a time, because it takes casts down that way.
#pragma once

#include <optional>

#include "models/kernel/work/gemm_shape.h"
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

/// The product of each item of a batch with one matrix, where the framework copies the batch into
/// one matrix and a compiler does not; else empty. A batch whose rows do not lie behind each other
/// is copied if the matrix needs a gradient (at::native::should_fold, torch._refs). In inference
/// parameters still say so, and so do their casts in an eager step; casts that a compiler takes
/// down do not.
std::optional<ProductOperands> unfolded_product(const Trace& trace, const Dataflow& flow,
                                                const FlowOp& op);

}  // namespace tandem
