// Which operations of a step a compiler puts into one kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/compile/host/graph_cuts.h"

namespace tandem {

enum class FuseRole : std::uint8_t {
  outside,       // not given to the compiler, or without shapes
  library,       // keeps its own kernels: products, convolutions, attention
  pointwise,     // also copies, gathers and scatters
  row,           // norms and softmax over the last dimensions
  column_sum,    // sums over leading dimensions
  channel_norm,  // batch norm from the statistics of the batch
  channel_norm_backward,
  // The gradient of an interpolation: each element is added to those between which it lay, each
  // in an image of its own (decompositions of TorchInductor), which no other kernel reads before.
  // Windows that are folded into an image: each element is added to one place.
  spread,
  window,    // pooling: a kernel of its own
  gathered,  // a concatenation of too many operands to be read by one kernel: copied one by one
  vanishes,  // computed elsewhere: duplicates, fills, copies of sums
};

/// Places that an element of a FuseRole::spread is added to.
int spread_places(const FlowOp& op);

/// Whether operations of the role share kernels with others.
bool fusable(FuseRole role);

/// Operations that become one fused group; a group of one operation is the usual case.
struct FusionGroup {
  /// Indices of Dataflow::ops, ascending; also what the group computes again for itself.
  std::vector<std::uint32_t> ops;
  std::vector<std::uint32_t> reads;   // tensors from outside of the group
  std::vector<std::uint32_t> writes;  // tensors that something outside of the group reads
  FlowPhase phase = FlowPhase::forward;
};

struct FusionPlan {
  std::vector<FuseRole> roles;         // per operation
  std::vector<std::uint32_t> same_as;  // per tensor: the one that holds its values
  std::vector<FusionGroup> groups;     // of all roles but outside, library and vanishes
};

/// Operations of different graphs share no kernel. `whole_step`: loss and gradient scaling belong
/// to the compiler, too.
FusionPlan plan_fusion(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                       bool whole_step);

}  // namespace tandem
