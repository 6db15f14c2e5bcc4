// Parts of tensors that are distributed over ranks: an operation on PyTorch's DTensor states the
// whole tensor, and the same operation within it, behind `PythonSubclass`, the part of this rank.
#pragma once

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Gives operations on distributed tensors, and what contains them, the shapes of the parts that
/// this rank computes with; operations that store gradients those of the parameters' parts.
void infer_distributed_parts(Trace& trace, const Links& links);

}  // namespace tandem
