// Attention in compiled code: its kernels, and what it holds, where it is computed another way than
// in the eager run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/work/gemm_shape.h"
#include "models/memory/lives.h"
#include "models/whatif/compile/kernels/generated_kernel.h"
#include "models/whatif/compile/masks/attention_path.h"

namespace tandem {

/// A kernel that is not made from a fused group.
struct ExtraKernel {
  PredictedKernel kernel;
  std::string op;
  double us = 0;
  double bytes = 0;  // of generated code, for the report
  LaunchGeometry geometry;
  Operands operands = {};  // of a library kernel
};

/// The ways of one operation: times in us; the kernels of the last one, none if its shapes are not
/// known; the work whose kernel reads the mask, and its time then.
struct AttentionWays {
  double keep_us = 0, masked_us = 0, math_us = 0;
  std::vector<ExtraKernel> products;
  std::uint32_t longest = no_row;
  double longest_masked_us = 0;
};
AttentionWays attention_ways(const KernelContext& context, const AttentionStyle& style,
                             const FlowOp& op);

/// What attention by products holds beside what fused attention does, by operation of `flow`. To
/// train: the scores in FP32, with dropout also a byte of its mask for each; and in FP32 what
/// dropout leaves of the rows of softmax, which the products of the backward pass read (in 16 bits
/// they are made again from the scores). At work: scores, and operands of 16 bits in FP32.
/// `asked`: the way of all operations, or automatic.
std::vector<Life> product_lives(const Step& step, const Dataflow& flow, AttentionPath asked);

}  // namespace tandem
