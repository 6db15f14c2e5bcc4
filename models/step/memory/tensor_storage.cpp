#include "models/step/memory/tensor_storage.h"

#include <numeric>

#include "models/ops/op_table.h"
#include "models/step/binding/hidden_tensors.h"

namespace tandem {

TensorStorage::TensorStorage(const Step& step, const Dataflow& flow, const StepFacts& facts)
    : step_(step), flow_(flow), facts_(facts), of_(flow.tensors.size()) {
  std::iota(of_.begin(), of_.end(), 0U);
}

bool TensorStorage::is_given_result(const FlowOp& op, const FlowUse& use) const {
  return !op.in_graph && use.argument > op.row->arguments.at(ArgumentName::right) &&
         fills_given_result(step_.trace, op);
}

/// Zeros that the operation has made for its result, or that the one around it has just made for
/// what it copies: padded tensors, gradients of parts. no_row: none.
std::uint32_t TensorStorage::filled_before(std::uint32_t i, std::uint32_t output) const {
  if (const std::uint32_t zeros = filled_within(flow_, i, output); zeros != no_row) return zeros;
  const FlowOp& op = flow_.ops[i];
  if (op.kind != OpKind::cast || i == 0) return no_row;
  const FlowOp& fill = flow_.ops[i - 1];
  if (fill.kind != OpKind::fill || fill.output_count != 1) return no_row;
  const std::uint32_t around = flow_.nesting.parent[op.op];
  if (!lies_within(flow_.nesting, fill.op, around)) return no_row;
  const std::uint32_t zeros = flow_.outputs_of(fill)[0];
  const FlowTensor &whole = flow_.tensors[zeros], &part = flow_.tensors[output];
  return whole.type == part.type && whole.elements >= part.elements ? zeros : no_row;
}

/// The result of the operation right before, which has made these zeros for it behind a first
/// kernel: rows of a table are sorted before their gradients are added. no_row: none.
std::uint32_t TensorStorage::filled_behind(std::uint32_t i, std::uint32_t output) const {
  if (i == 0 || flow_.ops[i].kind != OpKind::fill) return no_row;
  const FlowOp& around = flow_.ops[i - 1];
  if (around.output_count == 0 || !lies_within(flow_.nesting, flow_.ops[i].op, around.op)) {
    return no_row;
  }
  const std::uint32_t result = flow_.outputs_of(around)[0];
  const FlowTensor &zeros = flow_.tensors[output], &made = flow_.tensors[result];
  return made.type == zeros.type && made.elements == zeros.elements ? result : no_row;
}

/// Operations in place write into the first operand of the outermost one. no_row: into none.
std::uint32_t TensorStorage::written_by(const FlowOp& op) {
  const std::uint32_t first = flow_.inputs_of(op)[0].tensor;
  if (root_ != op.root) root_ = op.root, root_operand_ = first;
  if (facts_.is_fresh_copy(op)) return no_row;
  if (op.root != op.op && is_in_place(facts_.name_of(op.root))) return root_operand_;
  return is_in_place(facts_.name_of(op.op)) ? first : no_row;
}

/// Of an operation that the step itself says lies in which memory.
bool TensorStorage::place_known(std::uint32_t output) {
  const FlowTensor& tensor = flow_.tensors[output];
  const auto [first, fresh] =
      known_.try_emplace(std::pair(tensor.memory.storage, tensor.type), output);
  of_[output] = first->second;
  const TensorRole role = tensor.memory.role;
  return role != TensorRole::parameter && role != TensorRole::kept;
}

bool TensorStorage::place(std::uint32_t i, std::uint32_t output) {
  const FlowOp& op = flow_.ops[i];
  const bool stated = !operands_of(step_.trace, op.op).made.empty();
  if (stated && flow_.tensors[output].memory.known()) return place_known(output);
  const auto inputs = flow_.inputs_of(op);
  if (const std::uint32_t result = filled_behind(i, output); result != no_row) {
    of_[output] = of_[result];
    return true;
  }
  if (inputs.empty()) return true;
  if (op.overwrites) {
    of_[output] = of_[inputs[0].tensor];
    return true;
  }
  if (is_given_result(op, inputs.back())) return false;
  if (const std::uint32_t zeros = filled_before(i, output); zeros != no_row) {
    of_[output] = of_[zeros];
    return true;
  }
  const std::uint32_t written = written_by(op);
  if (written == no_row) return true;
  if (flow_.tensors[written].producer == no_row) return false;  // made before the step
  if (flow_.tensors[written].elements == flow_.tensors[output].elements) {
    of_[output] = of_[written];
  }
  return true;
}

}  // namespace tandem
