// How far a layer is computed again, and where.
#pragma once

#include <optional>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/checkpoint/layer_ranges.h"

namespace tandem {

struct Recomputation {
  TimePoint from{}, until{};  // of the program, which runs the layer
  TimePoint at{};  // in the backward pass: within the first node that needs what it saves
  ThreadId program, gradients;
  std::int64_t saved = 0;  // tensors that gradients of the layer read
};

/// PyTorch's checkpoint stops once all is there that the layer's gradients read: behind the last
/// operation that saves its result, or before the last one that saves what it is given. Nothing:
/// no gradient of the layer reads any of it.
std::optional<Recomputation> recomputation(const Step& step, const Dataflow& flow,
                                           const LayerRange& layer);

}  // namespace tandem
