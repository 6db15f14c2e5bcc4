#include "models/kernel/classify/fused_name.h"

#include <algorithm>
#include <iterator>

#include "models/kernel/classify/classify.h"
#include "models/kernel/kinds.h"

namespace tandem {
namespace {

constexpr std::string_view norm_gradients[] = {"norm_backward"};
constexpr std::string_view activation_gradients[] = {
    "gelu_backward",      "silu_backward",       "sigmoid_backward", "tanh_backward",
    "hardswish_backward", "leaky_relu_backward", "elu_backward",     "softplus_backward"};
constexpr std::string_view place_fillers[] = {"index_copy", "index_put"};
constexpr std::string_view mask_makers[] = {"native_dropout", "threshold_backward"};

template <class Operations>
bool lists_any(std::string_view name, const Operations& operations) {
  return std::any_of(std::begin(operations), std::end(operations), [&](std::string_view operation) {
    return name.find(operation) != std::string_view::npos;
  });
}

/// Whether the kernel is called by operations that add up, beside some that only move numbers.
bool lists_only_sums(std::string_view name) {
  constexpr std::string_view fused = "_fused_", sum = "sum";
  constexpr std::string_view words[] = {sum,       "view",    "unsafe", "clone", "transpose",
                                        "permute", "reshape", "t",      "to",    "copy"};
  const std::size_t begin = name.find(fused);
  if (begin == name.npos) return false;
  std::string_view rest = name.substr(begin + fused.size());
  rest = rest.substr(0, rest.rfind('_'));  // its number
  bool sums = false;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('_'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty()) continue;
    if (std::find(std::begin(words), std::end(words), word) == std::end(words)) return false;
    sums |= word == sum;
  }
  return sums;
}

/// Whether the kernel copies into an operand, as norms do with running statistics; `_to_copy_` is a
/// conversion.
bool lists_update(std::string_view name) {
  constexpr std::string_view update = "copy__", conversion = "_to_";
  for (std::size_t at = name.find(update); at != name.npos; at = name.find(update, at + 1)) {
    if (!name.substr(0, at).ends_with(conversion)) return true;
  }
  return false;
}

}  // namespace

FusedName fused_name(std::string_view kernel) {
  return {.reduces = classify(kernel).traits.kind != Kind::triton_pointwise,
          .only_sums = lists_only_sums(kernel),
          .norm_gradient = lists_any(kernel, norm_gradients),
          .activation_gradient = lists_any(kernel, activation_gradients),
          .makes_mask = lists_any(kernel, mask_makers),
          .updates_operand = lists_update(kernel),
          .fills_places = lists_any(kernel, place_fillers)};
}

}  // namespace tandem
