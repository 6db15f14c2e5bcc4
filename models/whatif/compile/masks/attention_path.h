// Which way attention goes once a program is compiled or captured, by what it is called with and
// what is around it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"
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

/// What the rule finds of the model.
struct AttentionStyle {
  /// Items and keys of the padding that the program looks at, whether it masks anything.
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  bool tokens = false;   // a batch of indices looks up rows of tables: it reads text
  bool numbers = false;  // ... and numbers their places anew in each step
  /// Per tensor of the dataflow: no token goes into it, but what convolutions made of sound or
  /// images.
  std::vector<bool> of_signals;
  bool trains = false;          // attention has a backward pass
  bool drops = false;           // dropout within the model
  bool tf32 = false;            // products of FP32 numbers may run in TF32: one does
  bool plain_pictures = false;  // masked once compiled: attends_to_plain_pictures
  bool lowered = false;         // layers get 16 bits by autocast; else they have what the model has
};
AttentionStyle attention_style(const Step& step, const Dataflow& flow);

/// The way of one forward or backward operation. Eager PyTorch needs no mask where nothing is
/// masked, and Transformers leaves it out; under a compiler that library always makes it
/// (its attention call gives a scale, torch.nn's gives none; its decoders number the places of
/// tokens in each step, where those that keep tables of cosines do not, and ask for causal order
/// alone). A mask for causal attention lies in memory and fused kernels read it; one that masks
/// nothing is a single column that is expanded, whose stride of zero no fused kernel takes: the
/// products and softmax remain (aten/native/transformers/cuda/sdp_utils.cpp: last dimension of the
/// mask contiguous). Where the eager program looks at the padding that it was given
/// (`padding_mask.all()`), the mask is that padding, which lies in memory, and fused kernels read
/// it. Positions of sound are never masked, those of images where they are plain
/// (attends_to_plain_pictures).
AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op);

/// The same where `asked` is not automatic: that for all operations.
AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op, AttentionPath asked);

/// Whether nothing tells that way for certain: images and sound have no padding, yet some encoders
/// of Transformers make a mask once they are compiled (attends_to_plain_pictures); a network that
/// was recorded says which (CompiledMask).
bool mask_is_untold(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                    const FlowOp& op);

}  // namespace tandem
