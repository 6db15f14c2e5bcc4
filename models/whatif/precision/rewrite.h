// Applies a change of types to the kernels of a step.
#pragma once

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Kernels, times, operands and casts follow the change; what could not be modelled is summed up in
/// the step.
void rewrite_types(TypedStep& s);

}  // namespace tandem
