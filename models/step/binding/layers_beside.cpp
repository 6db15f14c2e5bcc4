#include "models/step/binding/layers_beside.h"

#include <algorithm>

namespace tandem {
namespace {

bool multiplies_layer(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::matmul || !runs_forward(op) || op.row->is(batched)) return false;
  return enclosing(step.trace, flow.nesting, op.op, is_layer_product) != no_row;
}

/// The operand of a layer's product that is no parameter, or nothing where `op` is no such product.
const FlowUse* layer_input(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (!multiplies_layer(step, flow, op)) return nullptr;
  const std::uint8_t left = op.row->arguments.at(ArgumentName::left);
  const auto inputs = flow.inputs_of(op);
  const auto at = std::find_if(inputs.begin(), inputs.end(),
                               [&](const FlowUse& use) { return use.argument == left; });
  return at == inputs.end() ? nullptr : &*at;
}

}  // namespace

std::uint32_t not_beside(const Step& step, const Dataflow& flow, const FlowOp& op,
                         const TensorShape& shape, std::uint8_t argument, std::uint32_t tensor) {
  if (tensor == no_row || !multiplies_layer(step, flow, op)) return tensor;
  if (argument != op.row->arguments.at(ArgumentName::left)) return tensor;
  const FlowTensor& made = flow.tensors[tensor];
  if (made.producer == no_row || made.consumers > 0) return tensor;
  const FlowOp& maker = flow.ops[made.producer];
  const FlowUse* const input = layer_input(step, flow, maker);
  if (input == nullptr) return tensor;
  const OpTensors& beside = operands_of(step.trace, maker.op).tensors;
  const TensorShape* read = beside.at(input->argument);
  const TensorShape* first = beside.at(maker.row->arguments.at(ArgumentName::right));
  const TensorShape* second =
      operands_of(step.trace, op.op).tensors.at(op.row->arguments.at(ArgumentName::right));
  if (read == nullptr || first == nullptr || second == nullptr) return tensor;
  const bool widens = second->elements() > first->elements();
  return same_dims(*read, shape) && !widens ? input->tensor : tensor;
}

}  // namespace tandem
