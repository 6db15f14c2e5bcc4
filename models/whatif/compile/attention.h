// Attention in compiled code: which way it is computed, and its kernels where that is another way
// than in the eager run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/work/gemm_shape.h"
#include "models/memory/lives.h"
#include "models/whatif/compile/kernels.h"
#include "sim/core/named.h"

namespace tandem {

enum class AttentionPath : std::uint8_t {
  automatic,  // by rule, per operation: attention_path
  keep,       // the fused attention kernels of the trace
  masked,     // these kernels with a mask in memory instead of the causal half
  math,       // products and softmax of their own, in FP32
};
std::span<const Named<AttentionPath>> attention_paths();
/// Errors: InputError that lists the names.
AttentionPath parse_attention(std::string_view name);

/// A kernel that is not made from a fused group.
struct ExtraKernel {
  PredictedKernel kernel;
  std::string op;
  double us = 0;
  double bytes = 0;  // of generated code, for the report
  LaunchGeometry geometry;
  Operands operands = {};  // of a library kernel
};

/// What the rule finds of the model.
struct AttentionStyle {
  bool tokens = false;  // a batch of indices looks up rows of tables: it reads text
  /// Per tensor of the dataflow: no token goes into it, but what convolutions made of sound or
  /// images.
  std::vector<bool> of_signals;
  bool trains = false;   // attention has a backward pass
  bool drops = false;    // dropout within the model
  bool tf32 = false;     // products of FP32 numbers may run in TF32: one does
  bool lowered = false;  // layers get 16 bits by autocast; else they have what the model has
};
AttentionStyle attention_style(const Step& step, const Dataflow& flow);

/// The way of one forward or backward operation. Eager PyTorch needs no mask where nothing is
/// masked, and Transformers leaves it out; under a compiler that library always makes it
/// (its attention call gives a scale, torch.nn's gives none). A mask for causal attention lies in
/// memory and fused kernels read it; one that masks nothing is a single column that is expanded,
/// whose stride of zero no fused kernel takes: the products and softmax remain
/// (aten/native/transformers/cuda/sdp_utils.cpp: last dimension of the mask contiguous). Positions
/// of sound and images are never masked: what is attended to must hold tokens.
AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op);

/// The same where `asked` is not automatic: that for all operations.
AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op, AttentionPath asked);

/// Whether nothing tells that way: images and sound have no padding, yet some encoders of
/// Transformers make a mask once they are compiled (ViT, DeiT, AST), where others do not (CLIP,
/// DINOv2); a network that was recorded says which (CompiledMask).
bool mask_is_untold(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                    const FlowOp& op);

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
