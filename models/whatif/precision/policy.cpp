// Which operations autocast runs in which type, and where gradients are complete.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "models/whatif/precision/types.h"

namespace tandem {

CastPolicy cast_policy(FlowKind kind, std::string_view name) {
  using K = FlowKind;
  switch (kind) {
    case K::matmul:
    case K::convolution:
    case K::convolution_backward:
    case K::attention:
    case K::attention_backward:
    case K::recurrent: return CastPolicy::lower;
    case K::row_norm:
    case K::softmax:
    case K::loss: return CastPolicy::full;
    default: break;
  }
  // The framework's list of operations that autocast runs in FP32 (documentation of torch.amp).
  static constexpr std::string_view full[] = {"pow",         "exp",
                                              "expm1",       "log",
                                              "log10",       "log1p",
                                              "log2",        "reciprocal",
                                              "rsqrt",       "cumprod",
                                              "cumsum",      "prod",
                                              "sum",         "norm",
                                              "cdist",       "dist",
                                              "acos",        "asin",
                                              "cosh",        "sinh",
                                              "tan",         "softplus",
                                              "erfinv",      "renorm",
                                              "sum_to_size", "linalg_vector_norm"};
  if (name.starts_with("aten::")) name.remove_prefix(6);
  const bool listed = std::find(std::begin(full), std::end(full), name) != std::end(full);
  return listed ? CastPolicy::full : CastPolicy::promote;
}

bool is_half(DataType type) { return type == DataType::fp16 || type == DataType::bf16; }
bool is_float(DataType type) { return type == DataType::fp32 || is_half(type); }

BackwardIndex::BackwardIndex(const Dataflow& flow) {
  std::unordered_map<std::int64_t, std::uint32_t> last;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::backward && op.sequence >= 0) last[op.sequence] = i;
  }
  by_sequence_.assign(last.begin(), last.end());
  std::sort(by_sequence_.begin(), by_sequence_.end());
}

std::uint32_t BackwardIndex::last_of(std::int64_t sequence) const {
  // Nodes run from the highest number down: without work of its own, after that of the next higher.
  const auto at = std::lower_bound(by_sequence_.begin(), by_sequence_.end(),
                                   std::pair<std::int64_t, std::uint32_t>(sequence, 0));
  if (at != by_sequence_.end()) return at->second;
  return no_row;
}

}  // namespace tandem
