#include "models/step/batch/roles.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "models/step/op_rows.h"

namespace tandem {

// What makes two operations equal: name, operands and surroundings.
struct BatchOps::Key {
  StringId name;
  OperandsId operands;
  bool optimizer = false;
  bool fixed_scope = false;      // inside an operation that does not depend on the batch
  bool weight_gradient = false;  // the product of a backward node that is one
  friend bool operator==(const Key&, const Key&) = default;
};

namespace {

struct KeyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    std::size_t h =
        (key.optimizer ? 1U : 0U) | (key.fixed_scope ? 2U : 0U) | (key.weight_gradient ? 4U : 0U);
    for (const std::uint32_t id : {key.name.value, key.operands.value}) {
      h = (h ^ id) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29U;
    }
    return h;
  }
};

// Rows of a table that the gradient names: their number grows with the batch.
bool updates_rows(const OpRow& row) {
  return row.kind == OpKind::gather || row.kind == OpKind::scatter || row.layer == Layer::embedding;
}

// Parameters of all operations that name them by position, each distinct operation once; and what
// gradients are stored for that no layer's operation names, as factors of products of several
// indices, unless a layer reads it as its activation: an input that a gradient is asked of.
ParameterShapes find_parameters(const Trace& trace) {
  ParameterShapes out, activations;
  std::vector<TensorShape> leaves;
  std::unordered_map<std::uint64_t, bool> seen;
  OpRows rows(trace);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const StringId name = trace.ops.name[i];
    const OperandsId operands = trace.ops.operands[i];
    if (!operands.valid()) continue;
    const OpTensors& tensors = trace.operands.get(operands).tensors;
    const OpRow& row = rows.of(name);
    const OpArguments& arguments = row.arguments;
    if (const TensorShape* t = bare_weight(row, tensors)) out.add(*t);
    const bool leaf = row.is(stores_gradients);
    if (arguments.parameters == 0 && !leaf) continue;
    if (!seen.emplace(std::uint64_t{name.value} << 32U | operands.value, true).second) continue;
    for (std::size_t t = 0; t < tensors.shapes.size(); ++t) {
      const TensorShape& shape = tensors.shapes[t];
      const auto argument = tensors.arguments[t];
      // TorchScript may record the input twice, which shifts the arguments.
      const bool input = shape.rank > 2 && same_dims(tensors.shapes[0], shape);
      if (contains(arguments.parameters, argument) && !input) out.add(shape);
      if (contains(arguments.activations, argument)) activations.add(shape);
      if (leaf && shape.rank > 2) leaves.push_back(shape);
    }
  }
  for (const TensorShape& t : leaves) {
    if (!activations.contains(t)) out.add(t);
  }
  return out;
}

// All dimensions, each tensor's behind its argument.
std::vector<std::int64_t> dimensions_of(const Operands& operands) {
  std::vector<std::int64_t> out{operands.argument_count};
  for (std::size_t i = 0; i < operands.tensors.shapes.size(); ++i) {
    const TensorShape& shape = operands.tensors.shapes[i];
    if (shape.rank == 0) continue;
    out.push_back(-1 - std::int64_t{operands.tensors.arguments[i]});  // no dimension is negative
    out.insert(out.end(), shape.dims.begin(), shape.dims.begin() + shape.rank);
  }
  return out;
}

// Operands of all operations, those of equal dimensions once, whatever their types.
std::vector<const Operands*> distinct_operands(const Trace& trace) {
  std::vector<const Operands*> out;
  std::vector<bool> seen(trace.operands.size(), false);
  std::set<std::vector<std::int64_t>> known;
  for (const OperandsId id : trace.ops.operands) {
    if (!id.valid() || seen[id.index()]) continue;
    seen[id.index()] = true;
    const Operands& operands = trace.operands.get(id);
    if (known.insert(dimensions_of(operands)).second) out.push_back(&operands);
  }
  return out;
}

// Whether most tensors of three and more dimensions have the batch second.
bool find_sequence_first(const std::vector<const Operands*>& distinct,
                         const ParameterShapes& parameters, std::int64_t batch) {
  if (batch <= 1) return false;
  std::int64_t first = 0, second = 0;
  for (const Operands* operands : distinct) {
    for (const TensorShape& t : operands->tensors.shapes) {
      if (t.rank < 3 || parameters.contains(t)) continue;
      first += t.dims[0] == batch ? 1 : 0;
      second += t.dims[0] != batch && t.dims[1] == batch ? 1 : 0;
    }
  }
  return second > first;
}

// How many positions the items have: what stands behind the batch in [batch, positions, width].
std::set<std::int64_t> find_positions(const std::vector<const Operands*>& distinct,
                                      const ParameterShapes& parameters, std::int64_t batch) {
  std::set<std::int64_t> out;
  if (batch <= 1) return out;
  for (const Operands* operands : distinct) {
    for (const TensorShape& t : operands->tensors.shapes) {
      const bool sequence = t.rank == 3 && t.dims[0] == batch && t.dims[1] != batch;
      if (sequence && !parameters.contains(t)) out.insert(t.dims[1]);
    }
  }
  return out;
}

bool multiple(std::int64_t dim, std::int64_t batch) { return dim > 0 && dim % batch == 0; }

// Instance norm is a batch norm of one image that has the channels of all items
// (aten/native/Normalization.cpp, instance_norm).
bool joins_items(const TensorShape& t, std::int64_t batch) {
  return batch > 1 && t.rank > 2 && t.dims[0] == 1 && multiple(t.dims[1], batch);
}

ParameterShapes find_joined(const Trace& trace, std::int64_t batch) {
  ParameterShapes out;
  OpRows rows(trace);
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const OpKind kind = rows.of(i).kind;
    if (kind != OpKind::batch_norm && kind != OpKind::batch_norm_backward) continue;
    for (const TensorShape& t : operands_of(trace, i).tensors.shapes) {
      if (joins_items(t, batch)) out.add(t);
    }
  }
  return out;
}

BatchShapes shapes_of(const Trace& trace, std::int64_t batch) {
  BatchShapes out{batch, find_parameters(trace), find_joined(trace, batch), false, {}};
  const std::vector<const Operands*> distinct = distinct_operands(trace);
  out.sequence_first = find_sequence_first(distinct, out.parameters, batch);
  out.positions = find_positions(distinct, out.parameters, batch);
  return out;
}

// A product of its first two arguments, be they batches of matrices.
bool multiplies_two(const OpRow& row) {
  return row.kind == OpKind::matmul && row.arguments.has(ArgumentName::left) &&
         row.arguments.at(ArgumentName::left) == 0;
}

// Whether a product of an autograd node is the gradient of the weights. A node of a layer with bias
// (AddmmBackward) launches the gradient of the input first, one without (MmBackward: x times the
// transposed weights) that of the weights.
bool is_weight_gradient(const Trace& trace, const OpNesting& nesting, std::uint32_t row,
                        std::uint32_t& last_parent) {
  const std::uint32_t parent = nesting.parent[row];
  if (parent == no_row) return false;
  const std::string_view node = trace.strings.get(trace.ops.name[parent]);
  if (!is_backward_node(node)) return false;
  const bool second = last_parent == parent;
  last_parent = parent;
  const OpRow* forward = forward_of_node(node);
  return forward != nullptr && multiplies_two(*forward) ? !second : second;
}

}  // namespace

const TensorShape* bare_weight(const OpRow& row, const OpTensors& tensors) {
  if (row.kind != OpKind::matmul || row.backward || row.arguments.parameters != 0) return nullptr;
  const TensorShape* left = tensors.at(row.arguments.at(ArgumentName::left));
  const TensorShape* right = tensors.at(row.arguments.at(ArgumentName::right));
  const bool matrix = left != nullptr && right != nullptr && left->rank > 2 && right->rank == 2;
  return matrix ? right : nullptr;
}

void ParameterShapes::add(const TensorShape& shape) {
  if (shape.rank == 0) return;
  shapes_.emplace(shape.dims.begin(), shape.dims.begin() + shape.rank);
}

bool ParameterShapes::contains(const TensorShape& shape) const {
  if (shape.rank == 2) return contains(shape.dims[0], shape.dims[1]);
  return shapes_.count(Dims(shape.dims.begin(), shape.dims.begin() + shape.rank)) > 0;
}

bool ParameterShapes::contains(std::int64_t rows, std::int64_t columns) const {
  return shapes_.count({rows, columns}) > 0 || shapes_.count({columns, rows}) > 0;
}

bool BatchOp::grows() const {
  return std::any_of(axis.begin(), axis.end(), [](std::int8_t a) { return a >= 0; });
}

OpTensors resize(const BatchOp& op, std::int64_t base_batch, std::int64_t batch) {
  OpTensors out = op.tensors;
  for (std::size_t i = 0; i < out.shapes.size(); ++i) {
    if (op.axis[i] < 0) continue;
    std::int64_t& dim = out.shapes[i].dims[static_cast<std::size_t>(op.axis[i])];
    dim = dim / base_batch * batch;
  }
  return out;
}

BatchOps::BatchOps(const Trace& trace, const OpNesting& nesting, std::int64_t base_batch)
    : trace_(trace), shapes_(shapes_of(trace, base_batch)) {
  const HostOps& rows = trace.ops;
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  std::unordered_map<Key, std::uint32_t, KeyHash> known;
  number_.assign(rows.size(), no_row);
  std::uint32_t product_parent = no_row;
  OpRows table(trace);
  const auto number_of = [&](auto&& self, std::uint32_t row) -> std::uint32_t {
    if (number_[row] != no_row) return number_[row];
    Key key{rows.name[row], rows.operands[row], in_optimizer[row], false, false};
    if (const std::uint32_t parent = nesting.parent[row]; parent != no_row) {
      key.fixed_scope = ops_[self(self, parent)].fixed;
    }
    if (multiplies_two(table.of(row))) {
      key.weight_gradient = is_weight_gradient(trace, nesting, row, product_parent);
    }
    const auto [it, fresh] = known.try_emplace(key, 0);
    if (fresh) it->second = add(key);
    return number_[row] = it->second;
  };
  for (std::uint32_t row = 0; row < rows.size(); ++row) number_of(number_of, row);
}

std::uint32_t BatchOps::add(const Key& key) {
  const Operands& operands = trace_.operands.get(key.operands);
  BatchOp op;
  op.name = text_of(trace_, key.name);
  op.row = &op_row(op.name);
  op.tensors = operands.tensors;
  op.arguments = operands.arguments;
  op.optimizer = op.row->kind == OpKind::optimizer || (key.optimizer && !updates_rows(*op.row));
  op.axis.assign(op.tensors.shapes.size(), -1);
  // A sparse gradient hides its rows from the operation that adds it to the table.
  const bool sparse = key.optimizer && updates_rows(*op.row);
  if (!op.optimizer && (!key.fixed_scope || sparse)) {
    op.axis = growing_axes(*op.row, op.tensors, shapes_, key.weight_gradient);
  }
  const bool idle = is_framework_op(op.name) && op.has_shapes() && !op.grows();
  op.fixed = (key.fixed_scope && !sparse) || idle;
  ops_.push_back(std::move(op));
  return static_cast<std::uint32_t>(ops_.size() - 1);
}

void BatchOps::require_growth() const {
  if (std::any_of(ops_.begin(), ops_.end(), [](const BatchOp& op) { return op.grows(); })) return;
  std::map<std::int64_t, int> leading;
  for (const BatchOp& op : ops_) {
    for (const TensorShape& t : op.tensors.shapes) {
      if (t.rank > 1 && !shapes_.parameters.contains(t)) ++leading[t.dims[0]];
    }
  }
  std::string found = "leading dimensions";
  int shown = 0;
  for (const auto& [dim, count] : leading) {
    if (++shown > 8) break;
    found += (shown > 1 ? ", " : " ") + std::to_string(dim) + " (" + std::to_string(count) + "x)";
  }
  if (leading.empty()) found = "no tensors but parameters";
  throw InputError(
      trace_.path, "batch", found,
      "a dimension that is a multiple of the traced batch " + std::to_string(shapes_.batch));
}

// Which dimension of an operand grows.
namespace {

// Queries, keys and values in one tensor, item after item: [3, windows of all items, heads, ...].
bool stacks_items(const TensorShape& t, std::int64_t batch) {
  constexpr std::int64_t most_parts = 4;
  return t.rank >= 5 && t.dims[0] <= most_parts && multiple(t.dims[1], batch);
}

// Rows for all pairs of positions, as a table of their distances gives: the same for every item.
bool of_pairs(const TensorShape& t, const BatchShapes& s) {
  return t.rank >= 2 && t.dims[0] == t.dims[1] && s.positions.count(t.dims[0]) > 0;
}

// Leading dimension, if it counts items (or tokens of items); else one that is the batch itself, or
// counts windows of items behind that of a few stacked parts.
std::int8_t axis_of(const TensorShape& t, const BatchShapes& s) {
  const std::int64_t batch = s.batch;
  if (t.rank == 0) return -1;
  if (s.joined.contains(t)) return 1;
  if (of_pairs(t, s)) return -1;
  if (s.sequence_first && t.rank >= 3 && t.dims[1] == batch) return 1;
  if (t.dims[0] == 1 && (batch != 1 || t.rank == 1)) return -1;  // broadcast over the batch
  if (multiple(t.dims[0], batch)) return 0;
  for (std::int8_t i = 1; i < t.rank && batch > 1; ++i) {
    if (t.dims[static_cast<std::size_t>(i)] == batch) return i;
  }
  return batch > 1 && stacks_items(t, batch) ? 1 : -1;
}

// A product [m,k] x [k,n]: the operand or result that has the shape of a parameter does not grow.
struct ProductAxes {
  std::int8_t left = -1, right = -1;
};
ProductAxes product_axes(const TensorShape& left, const TensorShape& right,
                         const ParameterShapes& parameters, std::int64_t batch,
                         bool weight_gradient) {
  const std::int64_t m = left.dims[0], k = left.dims[1], n = right.dims[1];
  const bool left_fixed = parameters.contains(left), right_fixed = parameters.contains(right);
  const bool result_fixed = parameters.contains(m, n);
  // Where tokens = width of a layer, activations look like parameters.
  const bool ambiguous = result_fixed && (left_fixed || right_fixed);
  constexpr ProductAxes rows{0, -1}, inner{1, 0}, columns{-1, 1};
  if (ambiguous && weight_gradient && multiple(k, batch)) return inner;
  struct Candidate {
    bool fits;
    ProductAxes axes;
  };
  const std::array<Candidate, 3> by_shape{{
      {right_fixed && !left_fixed && multiple(m, batch), rows},
      {result_fixed && !left_fixed && !right_fixed && multiple(k, batch), inner},
      {left_fixed && !right_fixed && multiple(n, batch), columns},
  }};
  const auto fits =
      std::find_if(by_shape.begin(), by_shape.end(), [](const Candidate& c) { return c.fits; });
  if (fits != by_shape.end()) return fits->axes;
  // All of them are shapes of parameters: the order decides.
  if (weight_gradient && multiple(k, batch)) return inner;
  if (multiple(m, batch)) return rows;
  return multiple(k, batch) ? inner : ProductAxes{};
}

// A matrix, or the only one of a batched product, as which the framework runs products of more
// indices (einsum).
std::optional<TensorShape> single_matrix(const TensorShape& t, std::int64_t batch) {
  if (t.rank == 2) return t;
  if (t.rank != 3 || t.dims[0] != 1 || batch == 1) return {};
  TensorShape matrix = t;
  matrix.rank = 2;
  std::copy(t.dims.begin() + 1, t.dims.begin() + 3, matrix.dims.begin());
  return matrix;
}

// A product [p,m,k] x [p,k,n] for each position: what tells positions apart does not grow, items
// are the only other dimension that is a multiple of the batch.
std::optional<ProductAxes> axes_at_positions(const TensorShape& left, const TensorShape& right,
                                             const BatchShapes& s) {
  if (left.rank != 3 || right.rank != 3 || left.dims[0] != right.dims[0]) return {};
  if (s.positions.count(left.dims[0]) == 0) return {};
  const auto items = [&](std::int64_t dim) {
    return multiple(dim, s.batch) && s.positions.count(dim) == 0;
  };
  const bool rows = items(left.dims[1]), inner = items(left.dims[2]),
             columns = items(right.dims[2]);
  if (int(rows) + int(inner) + int(columns) != 1) return {};
  return rows ? ProductAxes{1, -1} : inner ? ProductAxes{2, 1} : ProductAxes{-1, 2};
}

// Operands of fewer dimensions stand beside the last ones of the largest operand, element by
// element: scales of a norm, as many as a layer is wide, do not grow beside rows of items.
void align_broadcast(const OpTensors& tensors, std::int64_t batch, std::vector<std::int8_t>& axes) {
  const auto& shapes = tensors.shapes;
  const auto whole = std::max_element(shapes.begin(), shapes.end(),
                                      [](const auto& a, const auto& b) { return a.rank < b.rank; });
  if (whole == shapes.end()) return;
  const int axis = axes[static_cast<std::size_t>(whole - shapes.begin())];
  if (axis < 0) return;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const int before = static_cast<int>(whole->rank) - static_cast<int>(shapes[i].rank);
    if (before == 0 || axes[i] < 0 || axes[i] + before == axis) continue;
    const int beside = axis - before;
    const bool grows =
        beside >= 0 && multiple(shapes[i].dims[static_cast<std::size_t>(beside)], batch);
    axes[i] = static_cast<std::int8_t>(grows ? beside : -1);
  }
}

}  // namespace

std::vector<std::int8_t> growing_axes(const OpRow& row, const OpTensors& tensors,
                                      const BatchShapes& shapes, bool weight_gradient) {
  std::vector<std::int8_t> axes(tensors.shapes.size(), -1);
  const bool product = is_matrix_product(row) || multiplies_two(row);
  const std::size_t first = product ? row.arguments.at(ArgumentName::left) : 0;
  if (product && axes.size() >= first + 2 &&
      tensors.shapes[first].rank == tensors.shapes[first + 1].rank) {
    const TensorShape &one = tensors.shapes[first], &other = tensors.shapes[first + 1];
    if (const auto p = axes_at_positions(one, other, shapes)) {
      axes[first] = p->left, axes[first + 1] = p->right;
      return axes;
    }
    const auto left = single_matrix(one, shapes.batch);
    const auto right = single_matrix(other, shapes.batch);
    if (left && right) {
      const ProductAxes p =
          product_axes(*left, *right, shapes.parameters, shapes.batch, weight_gradient);
      const int before = one.rank - 2;
      if (p.left >= 0) axes[first] = static_cast<std::int8_t>(p.left + before);
      if (p.right >= 0) axes[first + 1] = static_cast<std::int8_t>(p.right + before);
      return axes;
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool activation = contains(row.arguments.activations, tensors.arguments[i]);
    const bool parameter = contains(row.arguments.parameters, tensors.arguments[i]);
    if (parameter || (!activation && shapes.parameters.contains(tensors.shapes[i]))) continue;
    axes[i] = axis_of(tensors.shapes[i], shapes);
  }
  if (row.kind == OpKind::pointwise) align_broadcast(tensors, shapes.batch, axes);
  return axes;
}

}  // namespace tandem
