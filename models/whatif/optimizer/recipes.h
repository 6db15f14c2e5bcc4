// What torch.optim calls to update parameters, by the kind of optimizer and the way it goes over
// its tensors: one operation of lists after the other (foreach), or one that does all (fused).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/ops/list_ops.h"

namespace tandem {

enum class UpdateRule : std::uint8_t { sgd, adam, adamw };
std::string_view to_string(UpdateRule rule);

enum class UpdateWay : std::uint8_t { foreach, fused };
std::string_view to_string(UpdateWay way);
/// Errors: InputError.
UpdateWay parse_update_way(std::string_view name);

/// One optimizer of torch.optim with what of its options decides about kernels.
struct UpdateRecipe {
  UpdateRule rule = UpdateRule::sgd;
  bool decay = false;     // of the weights: added to gradients, or (AdamW) taken off the parameters
  bool momentum = false;  // of SGD
  bool nesterov = false;  // ... ahead of the step
  bool maxima = false;    // of Adam: amsgrad
  bool capturable = false;  // ... whose numbers of steps are on the GPU
  friend bool operator==(const UpdateRecipe&, const UpdateRecipe&) = default;
};

/// One call of a list operation.
struct ListCall {
  ListOp op = ListOp::other;
  int lists = 1;
  int accesses = 2;
  bool numbers = false;
  bool counters = false;  // on the numbers of steps, one a tensor, where these are on the GPU
  bool each = false;      // a kernel of its own for each tensor
};

/// All recipes that are known, those with more calls first.
std::vector<UpdateRecipe> update_recipes();
/// The calls of one group of parameters; without those that launch nothing.
std::vector<ListCall> foreach_calls(const UpdateRecipe& recipe);
/// `scaled`: the update divides gradients by the loss's scale, and skips what is not finite.
std::vector<ListCall> fused_calls(const UpdateRecipe& recipe, bool checked, bool scaled);
/// The operation that does all of it.
ListOp fused_op(const UpdateRecipe& recipe);
/// Whether it works on parameters, gradients and states, by kernels on lists of them.
inline bool updates_lists(const ListCall& call) { return !call.counters && !call.each; }
/// Lists of tensors that the update keeps or reads: parameters, gradients, states.
int lists_of(const UpdateRecipe& recipe);

}  // namespace tandem
