// Attention that a program writes out as products with a softmax between them, and that
// TorchInductor runs by the library's fused kernel (torch/_inductor/fx_passes/fuse_attention.py).
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/work/gemm_shape.h"
#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/compile/roles.h"

namespace tandem {

struct WrittenAttention {
  std::uint32_t scores = 0, results = 0;  // products: indices of Dataflow::ops
  AttentionShape shape;
  DataType type = DataType::unknown;  // of the operands
};

/// Finds such attention and lets what lies between its products vanish from `roles`. Of the forms
/// that programs use the compiler knows two (bench/capture/attention_forms.py tried thirteen):
/// scores of every head [batch, heads, queries, keys] divided by a number, and scores [batch x
/// heads, queries, keys] as they are, whose queries were scaled before (nn.MultiheadAttention with
/// weights). Scores that are multiplied, masked or filled stay products. Only in inference, in 16
/// bits or where FP32 products may run in TF32; a step that trains is left as it is, though the
/// compiler fuses some models of 16 bits without autocast.
std::vector<WrittenAttention> take_written_attention(const Step& step, const Dataflow& flow,
                                                     std::vector<FuseRole>& roles);

/// Averages of attention's weights over the heads that no operation reads (nn.MultiheadAttention
/// makes them unless it is told not to) are not computed by compiled code.
void drop_unread_weights(const Step& step, const Dataflow& flow, std::vector<FuseRole>& roles);

}  // namespace tandem
