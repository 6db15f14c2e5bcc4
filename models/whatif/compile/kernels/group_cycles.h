// Arithmetic of a fused group, in cycles of FP32 lanes.
#pragma once

#include "models/whatif/compile/kernels/group_view.h"

namespace tandem {

/// Of all operations; statistics, random numbers and softmaxes aside.
double lane_cycles(const GroupView& g);

/// Of softmaxes and their gradients, beside passing their rows: what is gathered for each element,
/// and the running maximum and sum of loops, which begin and end with whole vectors.
double softmax_cycles(const GroupView& g);

/// Of softmaxes whose rows a block holds, side by side with passing them.
double held_softmax_cycles(const GroupView& g);

/// Of norms and sums whose rows a block goes through in loops, with so many operands.
double looped_cycles(const GroupView& g, double operands);

}  // namespace tandem
