#include "models/whatif/precision/types/casts.h"

#include <algorithm>

#include "sim/core/bounds/limits.h"

namespace tandem {

void GradientCasts::cast_back(const FlowOp& op, PlannedCast cast) {
  cast.op = backward_.last_of(op);
  if (cast.op == no_row) return;
  change_.casts.push_back(cast);
  gradients_[op.sequence].push_back({cast.elements, cast.to});
}

void GradientCasts::promoted_gradients(std::uint32_t i, const FlowOp& op) {
  const std::uint32_t at = backward_.last_of(op);
  if (at == no_row) return;
  for (const FlowUse& use : flow_.inputs_of(op)) {
    const FlowTensor& tensor = flow_.tensors[use.tensor];
    const DataType type = change_.tensors[use.tensor];
    if (!is_half(type) || tensor.producer == no_row || tensor.elements <= 1) continue;
    change_.casts.push_back(
        {at, true, flow_.elements_of(use), DataType::fp32, type, false, i, use.argument});
  }
}

void GradientCasts::narrowed_gradients(std::uint32_t i, const FlowOp& op) {
  for (const FlowUse& use : flow_.inputs_of(op)) {
    const DataType type = change_.tensors[use.tensor];
    if (!is_half(type) || flow_.tensors[use.tensor].producer == no_row) continue;
    const std::int64_t elements = flow_.elements_of(use);
    if (op.kind == OpKind::softmax) {
      gradients_[op.sequence].push_back({elements, type});
    } else {
      cast_back(op, {i, true, elements, DataType::fp32, type, false, i, use.argument});
    }
  }
}

void GradientCasts::retype_gradients(const FlowOp& op) {
  const auto cast = gradients_.find(op.sequence);
  if (cast == gradients_.end()) return;
  for (const std::uint32_t t : flow_.outputs_of(op)) {
    for (const auto& [elements, type] : cast->second) {
      if (flow_.tensors[t].elements == elements) change_.tensors[t] = type;
    }
  }
}

DataType ProductAttention::type_within(std::uint32_t i, const FlowOp& op) {
  const std::uint32_t root = root_of(op);
  if (root != root_) {
    if (way_ == Way::full) leave();
    way_ = root == no_row ? Way::none : way_of(root);
    if (way_ == Way::full) enter(i, op, root);
    if (way_ == Way::fused) enter_fused(i, op, root);
    root_ = root;
  }
  last_ = i;
  if (way_ == Way::fused) change_.fused.back().last = i;
  switch (way_) {
    case Way::none: return DataType::unknown;
    case Way::full: return DataType::fp32;
    case Way::fused: return half_;
  }
  return DataType::unknown;
}

std::uint32_t ProductAttention::root_of(const FlowOp& op) const {
  std::uint32_t root = op.op;
  while (root != no_row && !op_row(text_of(trace_, trace_.ops.name[root])).is(full_inside)) {
    root = flow_.nesting.parent[root];
  }
  return root;
}

/// Whether no fused kernel reads the mask, whatever the type is: its columns lie apart, as T5's
/// scores of places do (aten/native/transformers/sdp_utils_cpp.h: last dimension contiguous).
bool lies_apart(const TensorShape* mask) {
  if (mask == nullptr || mask->rank == 0) return false;
  const std::size_t last = mask->rank - std::size_t{1};
  return mask->dims[last] > 1 && mask->strides[last] != 1 &&
         mask->strides[0] + mask->strides[last] > 0;
}

// Fused kernels read four dimensions. Heads that share keys read no mask in them; why others that
// share none were computed by products in FP32 no trace tells: they follow their layer.
ProductAttention::Way ProductAttention::way_of(std::uint32_t root) const {
  constexpr std::uint8_t mask = 3;
  const OpTensors& operands = operands_of(trace_, root).tensors;
  const TensorShape *query = operands.at(0), *key = operands.at(1), *value = operands.at(2);
  if (query == nullptr || key == nullptr || value == nullptr) return Way::none;
  if (query->rank != 4) return Way::full;
  const bool shared = key->rank == 4 && 0 < key->dims[1] && key->dims[1] < query->dims[1];
  if (!shared) return lies_apart(operands.at(mask)) ? Way::full : Way::none;
  return operands.at(mask) == nullptr && query->dims[3] <= fused_width_ ? Way::fused : Way::full;
}

// Values come from a product; queries and keys may have been turned in FP32 since theirs.
void ProductAttention::enter_fused(std::uint32_t i, const FlowOp& op, std::uint32_t root) {
  constexpr std::uint8_t value = 2;
  change_.fused.push_back({root, i, i});
  for (std::uint8_t at = 0; at < value; ++at) {
    const TensorShape* shape = operands_of(trace_, root).tensors.at(at);
    if (shape == nullptr || shape->type != DataType::fp32) continue;
    const std::int64_t n = shape->elements();
    if (made_.nearby(i, n) != DataType::fp32) continue;
    change_.casts.push_back({i, false, n, DataType::fp32, half_, false, i, no_argument});
    gradients_.cast_back(op, {i, true, n, half_, DataType::fp32, false, i, no_argument});
  }
}

void ProductAttention::enter(std::uint32_t i, const FlowOp& op, std::uint32_t root) {
  constexpr std::uint8_t mask = 3;
  for (std::uint8_t at = 0; at <= mask; ++at) {
    const TensorShape* shape = operands_of(trace_, root).tensors.at(at);
    if (shape == nullptr || shape->rank < 2 || shape->type != DataType::fp32) continue;
    const std::int64_t n = shape->elements();
    change_.casts.push_back({i, false, n, half_, DataType::fp32, false, i, no_argument});
    if (at == mask) continue;
    gradients_.cast_back(op, {i, true, n, DataType::fp32, half_, false, i, no_argument});
  }
}

// The result is as wide as the values; a score for each query and key.
void ProductAttention::leave() {
  const FlowOp& last = flow_.ops[last_];
  const OpTensors& operands = operands_of(trace_, root_).tensors;
  const TensorShape *query = operands.at(0), *key = operands.at(1), *value = operands.at(2);
  if (query == nullptr || key == nullptr || value == nullptr || query->rank < 2 || key->rank < 2 ||
      value->rank < 2) {
    return;
  }
  const std::int64_t rows =
      query->elements() / std::max<std::int64_t>(1, query->dims[query->rank - 1]);
  const std::int64_t result = limits::product(rows, value->dims[value->rank - 1]);
  const std::int64_t scores = limits::product(rows, key->dims[key->rank - 2]);
  for (const std::int64_t n : {scores, result}) {
    change_.casts.push_back({last_, true, n, DataType::fp32, half_, false, last_, no_argument});
  }
  gradients_.cast_back(last,
                       {last_, true, result, half_, DataType::fp32, false, last_, no_argument});
  for (const std::uint32_t t : flow_.outputs_of(last)) change_.tensors[t] = half_;
}

}  // namespace tandem
