// Attention that a CUDA graph captures: where capture brings a padding mask back, products and
// softmax take the place of the fused kernels.
#pragma once

#include <cstddef>
#include <string_view>

#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/step/step.h"
#include "models/whatif/compile/inductor/fusion_law.h"
#include "models/whatif/compile/masks/untold_masks.h"
#include "sim/core/error.h"

namespace tandem {

struct CaptureConstants {
  const GpuArch& gpu;  // that the step runs on
  const FusionLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
};

/// Operations of attention that are computed otherwise, and their time on the GPU both ways.
struct CapturedAttention {
  std::size_t operations = 0;
  double fused_us = 0, products_us = 0;
  UntoldMasks untold = {};
};

/// `step` with the kernels that a capture of it finds. Eager Transformers leaves a mask out that
/// masks nothing, after a look at it; while a graph is captured it cannot look, for that would wait
/// for the device, and passes the mask: a column that is expanded, which no fused kernel takes.
/// What remains is aten::_scaled_dot_product_attention_math, in FP32 also for 16-bit operands.
/// Models with a causal mask keep their kernels, and encoders of pictures unless they are plain.
/// `path`: automatic for that rule, keep, or math for all attention that has neither a mask nor the
/// causal half. Losses: `capture_changes_attention` with both times, `capture_mask_untold` where a
/// program may mask images (mask_is_untold), or `capture_may_change_work` where the trace has no
/// arguments that tell.
Step with_captured_attention(Step step, AttentionPath path, const CaptureConstants& constants,
                             LossList& losses, CapturedAttention* report = nullptr);

}  // namespace tandem
