#include "sim/core/kernel/kernel_family.h"

#include <iterator>

#include "sim/core/named.h"

namespace tandem {
namespace {

constexpr std::string_view family_names[] = {
    "pointwise", "copy",        "layout",     "reduction", "softmax", "layer_norm", "batch_norm",
    "gemm",      "convolution", "attention",  "embedding", "index",   "pooling",    "rnn",
    "optimizer", "random",      "collective", "transfer",  "triton",  "generic"};
static_assert(std::size(family_names) == values_up_to(KernelFamily::generic));

}  // namespace

std::string_view to_string(KernelFamily family) {
  return family_names[static_cast<std::size_t>(family)];
}

}  // namespace tandem
