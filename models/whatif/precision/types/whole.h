// A model that has 16 bits itself, without autocast: `model.half()`, `model.bfloat16()`.
#pragma once

#include <cstdint>

#include "models/whatif/precision/types/types.h"

namespace tandem {

/// From FP32 or autocast to weights, activations and gradients in `half`. Only what the user's code
/// converts to FP32 is in FP32, between casts; those of autocast vanish. `fused_width`: as
/// autocast() says.
TypeChange whole(const Trace& trace, const Dataflow& flow, DataType half, std::int64_t fused_width);

/// From such a model to one in FP32 under autocast.
TypeChange autocast_of_whole(const Trace& trace, const Dataflow& flow, DataType half,
                             std::int64_t fused_width);

/// Whether all layers that compute in 16 bits are handed them: autocast hands them FP32 now and
/// then, and is first in line where it does.
bool is_all_in_16_bits(const Trace& trace, const Dataflow& flow);

}  // namespace tandem
