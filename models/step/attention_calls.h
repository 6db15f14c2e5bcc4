// Operations of fused attention in a step: which belong together, and their shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/kernel/work/gemm_shape.h"
#include "models/step/dataflow.h"

namespace tandem {

/// The forward operation of one of attention, forward or backward; null for others.
const FlowOp* forward_attention(const Dataflow& flow, const FlowOp& op);
/// The call of the program: the outermost attention operation around `op` that states operands.
std::uint32_t attention_call(const Trace& trace, const Dataflow& flow, const FlowOp& op);
/// Per operation of `flow`, whether it is fused attention, forward or backward, whose mask gets a
/// gradient: only the memory-efficient kernels compute one (PyTorch, sdp_utils.cpp).
std::vector<bool> learned_masks(const Trace& trace, const Dataflow& flow);
std::optional<AttentionShape> attention_shape_of(const Trace& trace, const FlowOp& op);

}  // namespace tandem
