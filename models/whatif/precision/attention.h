// Fused attention in another precision: another backend with other helpers and another layout.
#pragma once

#include <vector>

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Attention runs helpers of its own; all its kernels together become those of another backend.
/// Returns per operation of the flow whether it was one of them.
std::vector<bool> retype_attention(TypedStep& s);

}  // namespace tandem
