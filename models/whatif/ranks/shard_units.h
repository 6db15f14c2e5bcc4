// Which parameters of a step that trained alone PyTorch's fully_shard gathers together.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/step.h"
#include "models/whatif/edit/gradients.h"

namespace tandem {

/// Parameters that are gathered and scattered as one. Works are those of the plan.
struct ShardUnit {
  double parameters = 0;               // tensors
  double part_bytes = 0;               // that a rank keeps: each is padded to equal parts
  std::uint32_t forward = no_index;    // the first that may need them
  std::uint32_t backward = no_index;   // the same of the backward pass
  std::uint32_t gradients = no_index;  // behind which all gradients are there
};

/// What a model is sharded into: each of its repeated layers, and all else, the root.
struct ShardUnits {
  ShardUnit root;
  std::vector<ShardUnit> layers;  // in the order of the forward pass
};

/// `gradients` tell the parameters and, by the numbers of their nodes, the order in which the
/// forward pass first needs them. A layer reaches from the first operation that needs one of its
/// parameters to that of what comes behind it. Without layers that the forward pass runs one after
/// the other the root is all of the model. Each of `ranks` keeps a part.
ShardUnits shard_units(const Step& step, const std::vector<Gradient>& gradients, int ranks);

}  // namespace tandem
