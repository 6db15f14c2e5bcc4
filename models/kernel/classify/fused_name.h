// What the name of a generated kernel says of the operations that it fuses.
#pragma once

#include <string_view>

namespace tandem {

/// Facts of one name, as TorchInductor makes it: triton_red_fused_add_native_layer_norm_backward_7.
struct FusedName {
  bool reduces = false;              // sums or norms, whatever else it computes
  bool only_sums = false;            // beside what only moves numbers
  bool norm_gradient = false;        // of any norm
  bool activation_gradient = false;  // which needs the gradient from behind and what was kept
  bool makes_mask = false;           // which its gradient reads
  bool updates_operand = false;      // writes into what its graph was given
  bool fills_places = false;         // writes values to some places of a tensor
};

/// Slow (a table search): once per distinct name.
FusedName fused_name(std::string_view kernel);

}  // namespace tandem
