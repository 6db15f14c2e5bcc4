// What works on weights themselves: optimizers, norms of all gradients.
#pragma once

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Whether weights and their gradients take another type, not activations alone.
bool retypes_weights(const TypedStep& s);

/// Kernels over lists of weights, gradients and states (operation `index`), of which traces tell no
/// types: bytes decide their time.
void retype_lists(TypedStep& s, std::uint32_t index);

}  // namespace tandem
