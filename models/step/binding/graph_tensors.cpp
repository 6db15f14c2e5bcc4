#include "models/step/binding/graph_tensors.h"

#include <algorithm>

#include "models/ops/op_table.h"
#include "models/step/binding/compiled_graphs.h"

namespace tandem {
namespace {

bool permuted(const TensorShape& a, const TensorShape& b) {
  return a.rank > 0 && a.rank == b.rank &&
         std::is_permutation(a.dims.begin(), a.dims.begin() + a.rank, b.dims.begin());
}

/// Libraries see signals over time as images of one row: such a view moves nothing.
TensorShape without_ones(const TensorShape& shape) {
  TensorShape out;
  out.type = shape.type;
  for (std::size_t d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] != 1) out.dims[out.rank++] = shape.dims[d];
  }
  return out;
}

/// Whether the product of some of the dimensions from `d` on is `side`.
bool multiplies_to(const TensorShape& shape, std::size_t d, std::int64_t side) {
  if (side == 1) return true;
  if (d == shape.rank) return false;
  const std::int64_t dim = shape.dims[d];
  return (dim > 0 && side % dim == 0 && multiplies_to(shape, d + 1, side / dim)) ||
         multiplies_to(shape, d + 1, side);
}

/// Products read matrices whose rows and columns each are some of the dimensions that were made;
/// what else has as many elements is a weight.
bool folds_to_matrix(const TensorShape& made, const TensorShape& matrix) {
  constexpr std::size_t fewest = 3;
  return made.rank < fewest || matrix.rank != 2 || multiplies_to(made, 0, matrix.dims[0]);
}

}  // namespace

bool same_kind(const TensorShape& a, const TensorShape& b) {
  return a.type == b.type && a.elements() == b.elements();
}

bool alike(const TensorShape& a, const TensorShape& b) {
  return a.type == b.type && same_recorded_dims(a, b);
}

const GraphTensors::List& best(const std::array<GraphTensors::List, 3>& lists) {
  return !lists[0].empty() ? lists[0] : !lists[1].empty() ? lists[1] : lists[2];
}

GraphTensors::GraphTensors(const Step& step, const Dataflow& flow) : step_(step), flow_(flow) {
  for (const bool backward : {false, true}) {
    for (const std::uint32_t call : graph_calls(step, flow, backward)) {
      const std::vector<TensorShape>& shapes = operands_of(step.trace, call).tensors.shapes;
      auto& list = backward ? tangents_ : given_;
      list.insert(list.end(), shapes.begin(), shapes.end());
    }
  }
}

GraphTensors::List& GraphTensors::made(const TensorShape& shape) {
  return made_[{shape.elements(), shape.type}];
}

void GraphTensors::see_new() {
  for (auto t = static_cast<std::uint32_t>(known_.size()); t < flow_.tensors.size(); ++t) {
    const FlowTensor& tensor = flow_.tensors[t];
    Known known;
    if (tensor.producer != no_row) {
      const FlowOp& maker = flow_.ops[tensor.producer];
      known.backward = maker.phase == FlowPhase::backward;
      known.by_library = maker.kind != OpKind::generated;
      made_[{tensor.elements, tensor.type}].push_back(t);
    }
    known_.push_back(known);
  }
}

void GraphTensors::resize(std::uint32_t tensor, const TensorShape& shape) {
  std::erase(made(known_[tensor].shape), tensor);
  known_[tensor].shape = shape;
  known_[tensor].read = false;
  if (shape.rank > 0) made(shape).push_back(tensor);
}

std::array<GraphTensors::List, 3> GraphTensors::by_fit(const List& list,
                                                       const TensorShape& shape) const {
  std::array<List, 3> out;
  const TensorShape wanted = without_ones(shape);
  for (const std::uint32_t t : list) {
    const TensorShape made = without_ones(known_[t].shape);
    if (same_recorded_dims(made, wanted)) out[0].push_back(t);
    if (permuted(made, wanted)) out[1].push_back(t);
    out[2].push_back(t);
  }
  return out;
}

GraphTensors::List GraphTensors::fitting(const TensorShape& shape, const FlowOp& op) {
  const bool product = op.kind == OpKind::matmul && op.phase == FlowPhase::forward;
  List free;
  for (const std::uint32_t t : made(shape)) {
    if (product && !folds_to_matrix(known_[t].shape, shape)) continue;
    const bool taken = std::any_of(flow_.inputs.begin() + op.first_input, flow_.inputs.end(),
                                   [t](const FlowUse& use) { return use.tensor == t; });
    if (!taken && !known_[t].overwritten) free.push_back(t);
  }
  const auto lists = by_fit(free, shape);
  for (List list : lists) {
    std::erase_if(list, [&](std::uint32_t t) {
      return !waits_to_be_read(t, op) || waits_for_another(t, shape, op);
    });
    if (!list.empty()) return list;
  }
  return best(lists);
}

bool GraphTensors::waits_for_another(std::uint32_t tensor, const TensorShape& shape,
                                     const FlowOp& op) const {
  if (op.kind != OpKind::generated || op.phase != FlowPhase::backward) return false;
  const TensorShape& made = known_[tensor].shape;
  if (same_recorded_dims(made, shape)) return false;
  const auto& operands = operands_of(step_.trace, op.op).tensors.shapes;
  if (operands.size() > most_operands) return false;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const TensorShape& other) { return alike(other, made); });
}

bool GraphTensors::waits_to_be_read(std::uint32_t tensor, const FlowOp& op) const {
  const Known& known = known_[tensor];
  return !known.read && !known.overwritten && known.backward == (op.phase == FlowPhase::backward);
}

std::size_t GraphTensors::waiting(const TensorShape& shape, const FlowOp& op) {
  const List& list = made(shape);
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [&](std::uint32_t t) { return waits_to_be_read(t, op); }));
}

std::uint32_t GraphTensors::waiting_from_library(std::int64_t elements, DataType type,
                                                 const FlowOp& op) const {
  const auto list = made_.find({elements, type});
  if (list == made_.end()) return no_row;
  for (std::size_t i = list->second.size(); i-- > 0;) {
    const std::uint32_t t = list->second[i];
    if (known_[t].by_library && waits_to_be_read(t, op)) return t;
  }
  return no_row;
}

bool GraphTensors::listed(const TensorShape& shape) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const TensorShape& g) { return alike(g, shape); });
}

bool GraphTensors::given(const TensorShape& shape, const FlowOp& op) const {
  return op.phase != FlowPhase::backward && listed(shape);
}

bool GraphTensors::is_tangent(const TensorShape& shape) const {
  return std::any_of(tangents_.begin(), tangents_.end(),
                     [&](const TensorShape& t) { return same_kind(t, shape); });
}

bool GraphTensors::unmade(const TensorShape& shape) {
  const List& list = made(shape);
  return !listed(shape) && std::none_of(list.begin(), list.end(), [&](std::uint32_t t) {
    return known_[t].shape.rank == 0 || same_recorded_dims(known_[t].shape, shape);
  });
}

}  // namespace tandem
