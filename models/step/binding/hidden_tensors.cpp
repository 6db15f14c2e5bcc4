#include "models/step/binding/hidden_tensors.h"

#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

/// The layer within which autocast converts an operand, or the layer itself brings it into another
/// order: nothing outside of it sees the result.
std::uint32_t converting_layer(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::cast || op.phase == FlowPhase::backward) return no_row;
  for (std::uint32_t r = flow.nesting.parent[op.op]; r != no_row; r = flow.nesting.parent[r]) {
    const OpKind kind = op_row(text_of(step.trace, step.trace.ops.name[r])).kind;
    if (kind == OpKind::cast || kind == OpKind::view) continue;
    return is_core(kind) || kind == OpKind::row_norm || kind == OpKind::softmax ? r : no_row;
  }
  return no_row;
}

/// Whether a tensor is the batch norm of a sum, perhaps behind an activation. Networks that
/// normalise their sums add the next branch to the sum, not to the branch's own normalised operand.
bool normalises_sum(const Dataflow& flow, std::uint32_t tensor) {
  constexpr int most = 2;  // activation and norm
  for (int i = 0; i < most; ++i) {
    const std::uint32_t maker = flow.tensors[tensor].producer;
    if (maker == no_row) return false;
    const FlowOp& op = flow.ops[maker];
    const auto inputs = flow.inputs_of(op);
    if (inputs.empty()) return false;
    const std::uint32_t from = inputs.front().tensor;
    if (op.kind == OpKind::batch_norm) {
      const std::uint32_t summed = flow.tensors[from].producer;
      return summed != no_row && flow.ops[summed].row->is(adds_gradients);
    }
    if (op.kind != OpKind::pointwise || inputs.size() != 1) return false;
    tensor = from;
  }
  return false;
}

}  // namespace

bool of_other_pass(const Dataflow& flow, std::uint32_t tensor, const FlowOp& op) {
  return flow.ops[flow.tensors[tensor].producer].pass != op.pass;
}

std::uint32_t filled_within(const Dataflow& flow, std::uint32_t i, std::uint32_t output) {
  if (i == 0) return no_row;
  const FlowOp& fill = flow.ops[i - 1];
  if (fill.kind != OpKind::fill || fill.output_count != 1) return no_row;
  if (!lies_within(flow.nesting, fill.op, flow.ops[i].op)) return no_row;
  const std::uint32_t zeros = flow.outputs_of(fill)[0];
  const FlowTensor &before = flow.tensors[zeros], &after = flow.tensors[output];
  return before.type == after.type && before.elements == after.elements ? zeros : no_row;
}

HiddenTensors::HiddenTensors(const Step& step, const Dataflow& flow) : flow_(flow) {
  for (const FlowOp& op : flow.ops) layer_.push_back(converting_layer(step, flow, op));
}

void HiddenTensors::overwritten_by(const FlowOp& op) {
  if (op.input_count == 0 || op.output_count == 0) return;
  const FlowUse& first = flow_.inputs_of(op)[0];
  if (first.argument != 0) return;  // a copy names only what it reads
  if (first.part > 0) return;       // the rest of the tensor is what it was
  mark(overwritten_, first.tensor);
}

std::uint32_t HiddenTensors::completed_by(std::uint32_t i) {
  const FlowOp& op = flow_.ops[i];
  if (op.kind == OpKind::fill || op.output_count == 0) return no_row;
  const std::uint32_t zeros = filled_within(flow_, i, flow_.outputs_of(op)[0]);
  if (zeros != no_row) mark(completed_, zeros);
  return zeros;
}

void HiddenTensors::mark(std::vector<bool>& marks, std::uint32_t tensor) {
  if (tensor >= marks.size()) marks.resize(tensor + std::size_t{1}, false);
  marks[tensor] = true;
}

bool HiddenTensors::from(std::uint32_t tensor, const FlowOp& op, bool further) const {
  if (tensor < completed_.size() && completed_[tensor]) return true;
  if (op.phase == FlowPhase::backward) return false;
  if (of_other_pass(flow_, tensor, op)) return true;
  if (tensor < overwritten_.size() && overwritten_[tensor]) return true;
  const std::uint32_t layer = layer_[flow_.tensors[tensor].producer];
  if (layer != no_row && !lies_within(flow_.nesting, op.op, layer)) return true;
  return further && op.row->is(adds_gradients) && normalises_sum(flow_, tensor);
}

}  // namespace tandem
