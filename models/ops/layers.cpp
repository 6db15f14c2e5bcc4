#include "models/ops/layers.h"

#include <iterator>
#include <string>

#include "sim/core/named.h"

namespace tandem {
namespace {

// In the order of the enumeration.
constexpr std::string_view names[] = {
    "pointwise", "attention", "batch_norm", "collective", "convolution", "copy",
    "dropout",   "embedding", "group_norm", "index",      "layer_norm",  "linear",
    "loss",      "optimizer", "pooling",    "rnn",        "softmax"};
static_assert(std::size(names) == values_up_to(Layer::softmax));

// How library kernels and generated code spell layers, in lower case. A fused kernel goes to the
// first layer that its name spells.
struct Spelling {
  std::string_view word;
  Layer layer;
};
constexpr Spelling spellings[] = {
    {"nccl", Layer::collective},
    {"all_reduce", Layer::collective},
    {"allreduce", Layer::collective},
    {"_foreach_", Layer::optimizer},
    {"_fused_adam", Layer::optimizer},
    {"_fused_sgd", Layer::optimizer},
    {"_amp_", Layer::optimizer},
    {"optimizer", Layer::optimizer},
    {"attention", Layer::attention},
    {"conv", Layer::convolution},
    {"batch_norm", Layer::batch_norm},
    {"batchnorm", Layer::batch_norm},
    {"layer_norm", Layer::layer_norm},
    {"layernorm", Layer::layer_norm},
    {"group_norm", Layer::group_norm},
    {"embedding", Layer::embedding},
    {"lstm", Layer::rnn},
    {"gru", Layer::rnn},
    {"rnn", Layer::rnn},
    {"addmm", Layer::linear},
    {"linear", Layer::linear},
    {"matmul", Layer::linear},
    {"bmm", Layer::linear},
    {"pool", Layer::pooling},
    {"softmax", Layer::softmax},
    {"nll_loss", Layer::loss},
    {"nllloss", Layer::loss},
    {"cross_entropy", Layer::loss},
    {"mse_loss", Layer::loss},
    {"dropout", Layer::dropout},
    {"tocopy", Layer::copy},
    {"copy", Layer::copy},
    {"clone", Layer::copy},
    {"contiguous", Layer::copy},
    {"index", Layer::index},
    {"gather", Layer::index},
};

Layer spelled(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Spelling& s : spellings) {
    if (text.find(s.word) != std::string::npos) return s.layer;
  }
  return Layer::around;
}

}  // namespace

std::string_view to_string(Layer layer) { return names[static_cast<std::size_t>(layer)]; }

NamedLayer layer_of_op(std::string_view name) {
  const OpRow* row = find_op(without_engine_prefix(name));
  if (row == nullptr) row = forward_of_node(name);
  if (row == nullptr) return {};
  return {row->kind == OpKind::generated ? spelled(name) : row->layer, true};
}

NamedLayer layer_of_kernel(std::string_view name) { return {spelled(name), false}; }

bool is_collective_kernel(std::string_view name) { return name.starts_with("nccl"); }

}  // namespace tandem
