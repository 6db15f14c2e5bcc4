// Operations of fused attention in a step: which belong together, and their shapes.
#pragma once

#include <cstdint>
#include <optional>

#include "models/kernel/work/gemm_shape.h"
#include "models/step/dataflow.h"

namespace tandem {

/// The forward operation of one of attention, forward or backward; null for others.
const FlowOp* forward_attention(const Dataflow& flow, const FlowOp& op);
/// The call of the program: the outermost attention operation around `op`.
std::uint32_t attention_call(const Trace& trace, const Dataflow& flow, const FlowOp& op);
std::optional<AttentionShape> attention_shape_of(const Trace& trace, const FlowOp& op);

}  // namespace tandem
