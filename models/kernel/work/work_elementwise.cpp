// Work of elementwise kernels: operands, broadcasting, and the dimensions their indices need.
#include <array>
#include <cmath>
#include <span>

#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"
#include "models/ops/op_table.h"
#include "sim/core/bounds/limits.h"

namespace tandem {
namespace {

// Strides of an operand in the iteration space of `rank` dimensions, innermost first; 0 where it is
// broadcast. Unknown strides: dense.
std::array<std::int64_t, 6> iteration_strides(const TensorShape& t) {
  std::array<std::int64_t, 6> out{};
  const bool known = std::any_of(t.strides.begin(), t.strides.end(), [](auto s) { return s != 0; });
  std::int64_t dense = 1;
  for (std::size_t i = 0; i < t.rank; ++i) {
    const std::size_t d = t.rank - 1U - i;
    out[i] = t.dims[d] == 1 ? 0 : known ? t.strides[d] : dense;
    dense = limits::product(dense, t.dims[d]);
  }
  return out;
}

// Dimensions left after PyTorch merges neighbours that all operands walk in one stride.
int merged_dims(std::span<const TensorShape> operands) {
  std::array<std::int64_t, 6> size{1, 1, 1, 1, 1, 1};
  for (const TensorShape& t : operands) {
    for (std::size_t i = 0; i < t.rank; ++i) size[i] = std::max(size[i], t.dims[t.rank - 1U - i]);
  }
  int dims = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] == 1) continue;
    const bool merges = dims > 0 && std::all_of(operands.begin(), operands.end(), [&](auto& t) {
                          const auto s = iteration_strides(t);
                          return s[i] == limits::product(s[last], size[last]);
                        });
    if (merges) {
      size[last] = limits::product(size[last], size[i]);  // keeps the stride of the first one
      continue;
    }
    ++dims;
    last = i;
  }
  return std::max(dims, 1);
}

}  // namespace

// The first inputs in argument order are read; copy_ names its destination first.
KernelWork elementwise_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& shapes = context.tensors.shapes;
  if (shapes.empty()) return work;
  const std::size_t inputs = kernel.traits.operands > 0 ? kernel.traits.operands - 1U : 1U;
  const bool destination_first =
      op_row(context.op).kind == OpKind::cast && is_in_place(context.op) && shapes.size() > 1;
  const std::size_t first = destination_first ? 1 : 0;
  double elements = 0;
  for (std::size_t i = first; i < shapes.size() && i - first < std::max<std::size_t>(inputs, 1);
       ++i) {
    elements = std::max(elements, static_cast<double>(shapes[i].elements()));
    if (i - first < inputs) work.read_bytes += bytes_of(shapes[i], kernel.traits.data);
  }
  if (destination_first) elements = static_cast<double>(shapes[0].elements());
  // Broadcasting may make the result larger than each input.
  const double capacity = threads(context.geometry) * elements_per_thread(kernel);
  if (inputs > 1 && elements > 0 && capacity > 4 * elements) elements = capacity;
  const std::string_view functor = functor_name(kernel.traits);
  int width = destination_first ? width_of(shapes[0], kernel.traits.data)
                                : width_of(shapes[std::min(shapes.size(), inputs) - (inputs > 0)],
                                           kernel.traits.data);
  if (functor == "compare" || functor == "logical" || functor == "isfinite") width = 1;
  work.elements = elements;
  work.write_bytes = elements * width;
  work.index_dims = merged_dims(shapes);
  work.in_place = is_in_place(context.op) && !destination_first;
  // A small kernel under a large operation: shapes of another kernel. Trust the geometry.
  work.exact = elements <= 1.01 * capacity && elements > 0;
  return work;
}

}  // namespace tandem
