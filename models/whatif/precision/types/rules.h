// What any way to give a step other types asks of its operations.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/precision/types/made_types.h"
#include "models/whatif/precision/types/types.h"

namespace tandem {

/// Large operands decide the type; scalars do not.
DataType promoted(const Dataflow& flow, const FlowOp& op, const std::vector<DataType>& types,
                  bool& mixed);
/// Of what the operation makes, else of what it reads.
DataType traced_type(const Dataflow& flow, const FlowOp& op);
/// All types as in the trace.
TypeChange unchanged(const Dataflow& flow);
/// What a layer does inside runs in the type that autocast gives to the layer.
CastPolicy policy_of(const Trace& trace, const Dataflow& flow, const FlowOp& op);
/// Whether sines and cosines are taken of a product of positions with rates: libraries switch
/// autocast off where they compute rotary positions (Transformers, maybe_autocast(enabled=False)).
/// Those are batched; a layer's product before a sine (SIREN) is one as any other.
bool makes_angles(const Dataflow& flow, std::uint32_t i);
/// A copy that does nothing but change between FP32 and 16 bits.
bool is_precision_cast(const Dataflow& flow, const FlowOp& op);
/// What backward operation `i` computes in, from the types before it; `forward`: the last operation
/// of its autograd number, or no_row.
DataType backward_type(const Dataflow& flow, const TypeChange& change, const MadeTypes& made,
                       std::uint32_t i, std::uint32_t forward);
/// In the order of their places.
void sort_casts(std::vector<PlannedCast>& casts);

}  // namespace tandem
