#include "models/step/binding/layer_operands.h"

#include <algorithm>

namespace tandem {
namespace {

/// Whether both are of one size and type, and of the same dimensions but for their order and those
/// of one.
bool same_but_for_order(const TensorShape& a, const TensorShape& b) {
  const auto sides = [](const TensorShape& shape) {
    std::vector<std::int64_t> dims = dims_of(shape);
    std::erase(dims, 1);
    std::sort(dims.begin(), dims.end());
    return dims;
  };
  return a.type == b.type && sides(a) == sides(b);
}

}  // namespace

void LayerOperands::see(const Dataflow& flow, const FlowOp& op) {
  const OpTensors& operands = operands_of(step_.trace, op.op).tensors;
  const Sides sides = sides_of(*op.row, operands);
  if (sides.empty()) return;
  for (const FlowUse& use : flow.inputs_of(op)) {
    if (const TensorShape* const shape = operands.at(use.argument)) {
      reads_[sides].push_back({*shape, use.tensor});
    }
  }
  if (op.kind != OpKind::attention) return;
  const TensorShape& query = *operands.at(op.row->arguments.at(ArgumentName::query));
  for (const std::uint32_t t : flow.outputs_of(op)) {
    if (flow.tensors[t].elements == query.elements()) reads_[sides].push_back({query, t});
  }
}

LayerOperands::Sides LayerOperands::sides_of(const OpRow& row, const OpTensors& operands) {
  const OpArguments& arguments = row.arguments;
  const bool layer = row.kind == OpKind::convolution || row.kind == OpKind::convolution_backward;
  if (layer && arguments.has(ArgumentName::weight)) {
    const TensorShape* const weight = operands.at(arguments.at(ArgumentName::weight));
    return weight == nullptr ? Sides{} : dims_of(*weight);
  }
  if (row.kind == OpKind::attention || row.kind == OpKind::attention_backward) {
    const TensorShape* const query = operands.at(arguments.at(ArgumentName::query));
    return query == nullptr ? Sides{} : dims_of(*query);
  }
  if (row.kind != OpKind::matmul || !arguments.has(ArgumentName::left)) return {};
  const std::uint8_t first = arguments.at(ArgumentName::left);
  const TensorShape *left = operands.at(first), *right = operands.at(first + 1);
  if (left == nullptr || right == nullptr || left->rank < 2 || right->rank != left->rank) return {};
  Sides sides = dims_of(*left);
  sides.push_back(right->dims[right->rank - 1]);
  std::sort(sides.begin(), sides.end());
  return sides;
}

std::uint32_t LayerOperands::take(const OpRow& gradient, const OpTensors& operands,
                                  const TensorShape& shape) {
  const auto known = reads_.find(sides_of(gradient, operands));
  if (known == reads_.end()) return no_row;
  std::vector<Read>& reads = known->second;
  const auto last = std::find_if(reads.rbegin(), reads.rend(), [&](const Read& read) {
    return same_but_for_order(read.shape, shape);
  });
  if (last == reads.rend()) return no_row;
  const std::uint32_t tensor = last->tensor;
  reads.erase(std::next(last).base());
  return tensor;
}

}  // namespace tandem
