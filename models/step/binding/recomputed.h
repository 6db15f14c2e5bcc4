// Operations of the backward pass that compute again what the forward pass did not keep (activation
// checkpointing: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; PyTorch's
// torch.utils.checkpoint).
#pragma once

#include "models/step/dataflow.h"

namespace tandem {

/// Notes for each operation that runs again below an autograd node which forward operation it
/// repeats (FlowOp::repeats), and hands it that one's autograd number: gradients read what was
/// computed last, and nothing is kept of the first run. Operations must have their phases and
/// numbers; what they read is not looked at.
void mark_recomputed(const Step& step, Dataflow& flow);

}  // namespace tandem
