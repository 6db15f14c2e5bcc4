// Layers side by side, which read one tensor.
#pragma once

#include <cstdint>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// `tensor`, or what the layer before read that has just made it: layers without anything computed
/// between them stand side by side (queries, keys and values), for two behind each other would be
/// one. Those that widen do not: gates are made of what a layer made.
std::uint32_t not_beside(const Step& step, const Dataflow& flow, const FlowOp& op,
                         const TensorShape& shape, std::uint8_t argument, std::uint32_t tensor);

}  // namespace tandem
