// Which results of element-wise operations a compiler computes again wherever they are read,
// because reading their operands is cheaper than keeping them; and in which type it keeps others.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/compile/groups.h"

namespace tandem {

/// Whether the operation is computed element by element from its operands alone: neither random
/// numbers nor rows that it adds to.
bool repeatable(const FlowOp& op, FuseRole role);

/// Per tensor: whether no kernel has to store it. `same_as`: the tensor that holds its values.
std::vector<bool> recomputed(const Dataflow& flow, const std::vector<FuseRole>& roles,
                             const std::vector<std::uint32_t>& same_as,
                             const TensorReaders& readers, const std::vector<bool>& later);

/// Gives results of 16 bits that kernels of the forward pass hand on the type in which they were
/// computed, FP32, where all who read them compute in it (computes_in_fp32).
void keep_wide(const FusionPlan& plan, Dataflow& flow);

}  // namespace tandem
