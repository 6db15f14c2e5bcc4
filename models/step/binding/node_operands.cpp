#include "models/step/binding/node_operands.h"

#include <algorithm>

namespace tandem {
namespace {

/// Per operation: its number of autograd, or the latest one before it.
std::vector<std::int64_t> numbers_of(const Dataflow& flow) {
  std::vector<std::int64_t> numbers;
  std::int64_t latest = -1;
  for (const FlowOp& op : flow.ops) {
    const bool numbered = runs_forward(op) && op.sequence >= 0;
    if (numbered) latest = std::max(latest, op.sequence);
    numbers.push_back(numbered ? op.sequence : latest);
  }
  return numbers;
}

/// Whether the node of `op` made `tensor`, or no_row, itself.
bool made_by_node(const Dataflow& flow, const FlowOp& op, std::uint32_t tensor) {
  if (tensor == no_row || flow.tensors[tensor].producer == no_row) return false;
  const FlowOp& maker = flow.ops[flow.tensors[tensor].producer];
  return runs_backward(maker) && maker.root == op.root;
}

/// What the node multiplied for a factor that was broadcast: the sum is that factor's gradient.
std::uint32_t unread_product(const Dataflow& flow, const Candidates& list, const FlowOp& op) {
  for (std::size_t k = list.size(); k-- > 0;) {
    if (!made_by_node(flow, op, list[k])) break;
    const FlowTensor& tensor = flow.tensors[list[k]];
    if (flow.ops[tensor.producer].kind == OpKind::pointwise && tensor.consumers == 0) {
      return list[k];
    }
  }
  return no_row;
}

/// Whether an operand that was found so far was made by the node of `op`.
bool reads_own(const Dataflow& flow, const FlowOp& op) {
  for (std::uint32_t u = op.first_input; u < flow.inputs.size(); ++u) {
    if (made_by_node(flow, op, flow.inputs[u].tensor)) return true;
  }
  return false;
}

}  // namespace

bool reads(const Dataflow& flow, const FlowOp& op, std::uint32_t tensor) {
  for (std::uint32_t u = op.first_input; u < flow.inputs.size(); ++u) {
    if (flow.inputs[u].tensor == tensor) return true;
  }
  return false;
}

bool accumulates(const Dataflow& flow, const FlowOp& op) {
  return op.row->is(adds_gradients) && flow.nesting.parent[op.op] == op.root;
}

NodeOperands::NodeOperands(const Dataflow& flow) : flow_(flow), number_(numbers_of(flow)) {}

void NodeOperands::enter(const FlowOp& op) {
  if (op.root != node_) node_ = op.root, gradient_ = no_row, factors_.clear();
}

void NodeOperands::leave(std::uint32_t i) {
  const FlowOp& op = flow_.ops[i];
  const bool product = op.row->is(multiplies) && op.input_count == 2;
  // What no gradient is asked of has the number of what comes next: the last one owns it.
  if (!runs_forward(op) || op.sequence < 0) return;
  if (product) products_[op.sequence] = i;
  if (op.kind == OpKind::matmul && op.output_count == 1) matrices_[op.sequence] = i;
}

bool NodeOperands::is_matrix(const FlowOp& op, std::int64_t elements) const {
  const auto product = matrices_.find(op.sequence);
  if (op.kind != OpKind::matmul || product == matrices_.end()) return false;
  return flow_.tensors[flow_.outputs_of(flow_.ops[product->second])[0]].elements != elements;
}

std::uint32_t NodeOperands::matrix(const FlowOp& op, std::int64_t elements, DataType type) {
  const auto product = matrices_.find(op.sequence);
  if (op.kind != OpKind::matmul || product == matrices_.end()) return no_row;
  const auto inputs = flow_.inputs_of(flow_.ops[product->second]);
  for (const FlowUse& use : inputs.last(std::min<std::size_t>(inputs.size(), 2))) {
    const FlowTensor& tensor = flow_.tensors[use.tensor];
    const bool used = std::find(factors_.begin(), factors_.end(), use.tensor) != factors_.end();
    if (used || tensor.type != type || flow_.elements_of(use) != elements) continue;
    factors_.push_back(use.tensor);
    return tensor.producer == no_row ? no_row : use.tensor;
  }
  return no_row;
}

bool NodeOperands::made(const FlowOp& op, std::uint32_t tensor) const {
  return made_by_node(flow_, op, tensor);
}

/// What no gradient is asked of has the number of what comes next, and so has what a what-if
/// converts for it: an operand, not a result. A copy of the same type is the operation's own, for
/// another order of its elements; what that was made of is kept.
bool NodeOperands::converts_for(const FlowOp& op, std::uint32_t maker) const {
  const FlowOp& made = flow_.ops[maker];
  if (made.kind != OpKind::cast || op.kind == OpKind::cast) return false;
  if (made.sequence != op.sequence || made.input_count == 0) return false;
  const DataType type = flow_.tensors[flow_.inputs_of(made)[0].tensor].type;
  const auto outputs = flow_.outputs_of(made);
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](std::uint32_t t) { return flow_.tensors[t].type != type; });
}

std::uint32_t NodeOperands::saved(const Candidates& list, const FlowOp& op, bool input) const {
  for (std::size_t k = list.size(); k-- > 0;) {
    const std::uint32_t maker = flow_.tensors[list[k]].producer;
    if (!runs_forward(flow_.ops[maker]) || taken(list[k], op)) continue;
    if (of_other_pass(flow_, list[k], op)) continue;
    const bool before = number_[maker] < op.sequence || (input && converts_for(op, maker));
    if (before || (!input && number_[maker] == op.sequence)) return list[k];
  }
  return no_row;
}

std::uint32_t NodeOperands::saved_whole(const Candidates& list, const FlowOp& op) const {
  const auto whole = std::find_if(list.rbegin(), list.rend(), [&](std::uint32_t t) {
    const std::uint32_t maker = flow_.tensors[t].producer;
    if (of_other_pass(flow_, t, op)) return false;
    return runs_forward(flow_.ops[maker]) && number_[maker] < op.sequence;
  });
  return whole == list.rend() ? no_row : *whole;
}

std::uint32_t NodeOperands::factor(const FlowOp& op, std::int64_t elements, DataType type,
                                   bool further) {
  const auto product = products_.find(op.sequence);
  if (product == products_.end() || !op.row->is(multiplies)) return no_row;
  const FlowTensor& gradient = flow_.tensors[gradient_];
  if (!further) return gradient.elements == elements && gradient.type == type ? gradient_ : no_row;
  const auto factors = flow_.inputs_of(flow_.ops[product->second]);
  for (std::size_t k = factors.size(); k-- > 0;) {
    const std::uint32_t t = factors[k].tensor;
    const FlowTensor& tensor = flow_.tensors[t];
    const bool used = std::find(factors_.begin(), factors_.end(), t) != factors_.end();
    if (used || tensor.producer == no_row || tensor.type != type) continue;
    if (flow_.elements_of(factors[k]) != elements) continue;
    factors_.push_back(t);
    return t;
  }
  return no_row;
}

std::uint32_t NodeOperands::own_result(const Candidates& list, const FlowOp& op) const {
  std::uint32_t latest = no_row;
  for (std::size_t k = list.size(); k-- > 0;) {
    if (!made_by_node(flow_, op, list[k])) break;
    if (taken(list[k], op)) continue;
    if (flow_.tensors[list[k]].consumers == 0) return list[k];
    if (latest == no_row) latest = list[k];
  }
  return latest;
}

std::uint32_t NodeOperands::within_node(const Candidates& list, const FlowOp& op,
                                        bool input) const {
  const bool gradient =
      std::find(list.begin(), list.end(), gradient_) != list.end() && !taken(gradient_, op);
  const bool reads_gradient = op.kind == OpKind::matmul || op.kind == OpKind::reduction;
  const std::uint32_t product =
      op.kind == OpKind::reduction ? unread_product(flow_, list, op) : no_row;
  if (product != no_row) return product;
  if (gradient && reads_gradient) return gradient_;
  const std::uint32_t own = reads_gradient ? no_row : own_result(list, op);
  if (own != no_row) return own;
  // The gradient times a constant is already the first factor: the other one was kept.
  if (gradient && op.row->is(multiplies) && reads_own(flow_, op)) {
    const std::uint32_t kept = saved(list, op, input);
    if (kept != no_row) return kept;
  }
  return gradient ? gradient_ : saved(list, op, input);
}

}  // namespace tandem
