// Which operations of the forward pass each of a model's repeated layers runs.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Operations [first, end) of a data flow.
struct LayerRange {
  std::uint32_t first = 0, end = 0;
};

struct LayerRanges {
  std::vector<LayerRange> layers;  // of all passes, in the order in which they run
  /// Weights between two stacks of layers that are of none: blocks that are unlike the others.
  std::int64_t unlike = 0;
};

/// Layers are told by shapes of parameters that repeat themselves (repeated_blocks). One begins
/// before the first operation that needs a parameter of it, where nothing but its input lies
/// between what came before and itself: a norm's own arithmetic comes before its weight. None where
/// the forward pass does not run them one behind the other.
LayerRanges layer_ranges(const Step& step, const Dataflow& flow);

}  // namespace tandem
