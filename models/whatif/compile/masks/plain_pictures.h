// Encoders of pictures that programs mask once they are compiled, though nothing is masked.
#pragma once

#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Whether what a step does to pictures, beside its tokens, is that of a plain Vision Transformer.
/// Neither eager steps nor their operands tell which encoders of pictures Transformers (5.17) makes
/// a mask for once it cannot look at it; what they are built of does, mostly. ViT, DeiT, ViT-MSN,
/// ViT-MAE, I-JEPA, Pixio, ViViT and AST make one, and have nothing but norms, products, attention,
/// GELU and sums. Encoders that make none have something else: positions looked up in a table
/// (SigLIP, CLIP and what is built of it), a norm upon a norm (CLIP), results scaled by column
/// (DINOv2, DINOv3, InternVL), turned queries (V-JEPA 2, Pixtral), words behind the patches
/// (YOLOS), convolutions of what attention made (DPT, ViTPose), clips, or pictures beside tokens,
/// without a word for their class (VideoMAE, SigLIP), sounds as lines (Whisper). Per tensor of the
/// flow, `of_signals`: what was made of convolutions; `of_tokens`: of tokens, whose layers do not
/// count, nor do places that are looked up for them.
bool attends_to_plain_pictures(const Trace& trace, const Dataflow& flow,
                               const std::vector<bool>& of_signals,
                               const std::vector<bool>& of_tokens);

}  // namespace tandem
