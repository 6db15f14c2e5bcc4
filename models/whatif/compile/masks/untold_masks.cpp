#include "models/whatif/compile/masks/untold_masks.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {

void UntoldMasks::add(AttentionPath predicted, double fused_us, double products_us) {
  double& us = predicted == AttentionPath::math ? less_us : more_us;
  us += std::max(0.0, products_us - fused_us);
}

void add_untold(const UntoldMasks& untold, std::string_view id, std::string_view once,
                LossList& losses) {
  if (untold.more_us > 0) {
    losses.add(id, Severity::warning,
               fmt::format("step of which nothing tells whether its program masks attention once "
                           "it {}; it has not what plain Vision Transformers are made of, so it is "
                           "taken for one that does not: if it does, products in FP32 take {:.0f} "
                           "us more (--attention math; --attention keep if not)",
                           once, untold.more_us));
  }
  if (untold.less_us > 0) {
    losses.add(id, Severity::warning,
               fmt::format("step of which nothing tells whether its program masks attention once "
                           "it {}; it is made as ViT, DeiT and AST of Transformers are, which do: "
                           "if it does not, fused attention takes {:.0f} us less (--attention "
                           "keep; --attention math if it does)",
                           once, untold.less_us));
  }
}

}  // namespace tandem
