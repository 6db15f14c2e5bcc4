// What becomes of each operation of a step under a compiler.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/compile/host/graph_cuts.h"

namespace tandem {

enum class FuseRole : std::uint8_t {
  outside,       // not given to the compiler, or without shapes
  library,       // keeps its own kernels: products, convolutions, attention
  pointwise,     // also copies, gathers and scatters
  row,           // norms, softmax, sums and running sums over the last dimensions
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

/// Forward: each element lies between four others, so that generated code reads its operand four
/// times.
bool interpolates_images(const FlowOp& op);
/// ... at places that another tensor states.
bool samples_images(const FlowOp& op);
/// Places that an element of a FuseRole::spread is added to.
int spread_places(const FlowOp& op);

/// Whether operations of the role share kernels with others.
bool fusable(FuseRole role);

/// Whether a kernel of its own runs it, made by the compiler.
bool stands_alone(FuseRole role);

/// Per operation. What runs outside of the graphs of `cuts` is outside; `whole_step`: loss and
/// gradient scaling belong to the compiler, too. `lists`: per host operation, of host_lists().
std::vector<FuseRole> fuse_roles(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                                 const std::vector<bool>& lists, bool whole_step);

/// Whether the operation is a softmax over the last dimension.
bool is_row_softmax(const Step& step, const FlowOp& op);

}  // namespace tandem
