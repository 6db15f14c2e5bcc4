// The rules that decide which operand of an operation grows with the batch.
#include <algorithm>
#include <array>

#include "models/whatif/batch/roles.h"

namespace tandem {
namespace {

bool multiple(std::int64_t dim, std::int64_t batch) { return dim > 0 && dim % batch == 0; }

// Leading dimension, if it counts items (or tokens of items); else one that is the batch itself.
std::int8_t axis_of(const TensorShape& t, std::int64_t batch, bool sequence_first) {
  if (t.rank == 0) return -1;
  if (sequence_first && t.rank >= 3 && t.dims[1] == batch) return 1;
  if (t.dims[0] == 1 && (batch != 1 || t.rank == 1)) return -1;  // broadcast over the batch
  if (multiple(t.dims[0], batch)) return 0;
  for (std::int8_t i = 1; i < t.rank && batch > 1; ++i) {
    if (t.dims[static_cast<std::size_t>(i)] == batch) return i;
  }
  return -1;
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

}  // namespace

std::vector<std::int8_t> growing_axes(const OpRow& row, const OpTensors& tensors,
                                      const ParameterShapes& parameters, std::int64_t batch,
                                      bool sequence_first, bool weight_gradient) {
  std::vector<std::int8_t> axes(tensors.shapes.size(), -1);
  const std::size_t first = is_matrix_product(row) ? row.arguments.at(ArgumentName::left) : 0;
  if (is_matrix_product(row) && axes.size() >= first + 2 && tensors.shapes[first].rank == 2 &&
      tensors.shapes[first + 1].rank == 2) {
    const ProductAxes p = product_axes(tensors.shapes[first], tensors.shapes[first + 1], parameters,
                                       batch, weight_gradient);
    axes[first] = p.left, axes[first + 1] = p.right;
    return axes;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool activation = contains(row.arguments.activations, tensors.arguments[i]);
    const bool parameter = contains(row.arguments.parameters, tensors.arguments[i]);
    if (parameter || (!activation && parameters.contains(tensors.shapes[i]))) continue;
    axes[i] = axis_of(tensors.shapes[i], batch, sequence_first);
  }
  return axes;
}

}  // namespace tandem
