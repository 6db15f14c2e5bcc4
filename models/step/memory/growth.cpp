#include "models/step/memory/growth.h"

#include <algorithm>

namespace tandem {
namespace {

/// Whether the operand at that place grows: 1 or -1; 0 where the trace does not tell its shape.
int vote(const BatchOp& op, std::uint8_t argument) {
  const auto& arguments = op.tensors.arguments;
  const auto at = std::find(arguments.begin(), arguments.end(), argument);
  if (at == arguments.end()) return 0;
  return op.axis[static_cast<std::size_t>(at - arguments.begin())] >= 0 ? 1 : -1;
}

/// Rows or columns of a product grow with those of an operand; the dimension that both share leaves
/// no trace in the result.
bool result_grows(const BatchOp& op) {
  const std::size_t left = op.row->arguments.at(ArgumentName::left);
  return op.axis.size() >= left + 2 && (op.axis[left] == 0 || op.axis[left + 1] == 1);
}

/// Of tensors that have as many elements as a parameter, which is no sign.
class SameSize {
 public:
  SameSize(const Dataflow& flow, const BatchOps& ops)
      : flow_(flow), ops_(ops), votes_(flow.tensors.size(), 0), read_(flow.tensors.size(), false) {
    for (const FlowOp& op : flow.ops) {
      for (const FlowUse& use : flow.inputs_of(op)) {
        votes_[use.tensor] += vote(known(op), use.argument);
        read_[use.tensor] = true;
      }
    }
  }

  bool grows(std::uint32_t t) const {
    const FlowTensor& tensor = flow_.tensors[t];
    if (product(tensor)) return result_grows(known(flow_.ops[tensor.producer]));
    if (read_[t]) return votes_[t] >= 0;
    if (tensor.producer == no_row) return false;
    // What nobody reads is a gradient of a parameter in the backward pass, or the zeros that it is
    // added to.
    const FlowOp& made = flow_.ops[tensor.producer];
    return made.phase == FlowPhase::forward && known(made).grows();
  }

  bool mistaken(std::uint32_t t) const {
    return product(flow_.tensors[t]) && !grows(t) && votes_[t] > 0;
  }

 private:
  const BatchOp& known(const FlowOp& op) const { return ops_.op(ops_.number(op.op)); }

  bool product(const FlowTensor& tensor) const {
    return tensor.producer != no_row && is_matrix_product(*flow_.ops[tensor.producer].row);
  }

  const Dataflow& flow_;
  const BatchOps& ops_;
  std::vector<int> votes_;  // of the operations that read each
  std::vector<bool> read_;  // whether there are any
};

}  // namespace

TensorGrowth growing_tensors(const Dataflow& flow, const BatchOps& ops,
                             const StepParameters& parameters, std::int64_t batch) {
  const SameSize same_size(flow, ops);
  TensorGrowth out;
  for (std::uint32_t t = 0; t < flow.tensors.size(); ++t) {
    const std::int64_t elements = flow.tensors[t].elements;
    const TensorMemory& memory = flow.tensors[t].memory;
    const bool multiple =
        memory.known() ? memory.role == TensorRole::activation : elements % batch == 0;
    const bool asks = multiple && !memory.known() && parameters.has(elements);
    out.grows.push_back(asks ? same_size.grows(t) : multiple);
    out.mistaken.push_back(asks && same_size.mistaken(t));
  }
  return out;
}

}  // namespace tandem
