// What may be more or less where nothing tells whether a program masks its attention.
#pragma once

#include <string_view>

#include "models/whatif/compile/masks/attention_path.h"
#include "sim/core/error.h"

namespace tandem {

/// Attention of which nothing tells whether its program masks it: what products would take beyond
/// the fused kernels that are predicted, and what these would take less where products are.
struct UntoldMasks {
  double more_us = 0, less_us = 0;
  void add(AttentionPath predicted, double fused_us, double products_us);
};
/// A warning under `id`, if there is any. `once`: what makes programs mask.
void add_untold(const UntoldMasks& untold, std::string_view id, std::string_view once,
                LossList& losses);

}  // namespace tandem
