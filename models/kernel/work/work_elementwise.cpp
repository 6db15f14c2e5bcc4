// Work of elementwise kernels: operands, broadcasting, and the dimensions their indices need.
#include <array>
#include <span>

#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"
#include "models/ops/op_table.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/units.h"

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

// Whether lanes walk along dimension i before j: the first operand that both move decides
// (aten/native/TensorIterator.cpp, reorder_dimensions).
bool walks_before(std::span<const TensorShape> operands, std::size_t i, std::size_t j) {
  for (const TensorShape& t : operands) {
    const auto strides = iteration_strides(t);
    if (strides[i] != 0 && strides[j] != 0) return strides[i] < strides[j];
  }
  return false;
}

bool moves(std::span<const TensorShape> operands, std::size_t i) {
  return std::any_of(operands.begin(), operands.end(),
                     [i](const TensorShape& t) { return iteration_strides(t)[i] != 0; });
}

// Sectors that a strided kernel loads, in bytes: along the dimension in which one operand is dense
// another may take a sector a lane.
double strided_loads(std::span<const TensorShape> operands, std::size_t first, double elements,
                     DataType data) {
  std::size_t inner = 0;
  for (std::size_t i = 1; i < iteration_strides(operands[0]).size(); ++i) {
    if (!moves(operands, inner) || walks_before(operands, i, inner)) inner = i;
  }
  double bytes = 0;
  for (const TensorShape& t : operands.subspan(first)) {
    const auto stride = static_cast<double>(iteration_strides(t)[inner]);
    const double least = stride > 0 ? width_of(t, data) : 1;  // broadcast: a sector a warp
    bytes +=
        t.rank == 0 ? 0 : elements * std::clamp(stride * width_of(t, data), least, sector_bytes);
  }
  return bytes;
}

// A lane that loads more than 16 bytes at once does so in two halves, each of which touches all the
// sectors of its warp.
double vector_loads(const KernelTraits& traits, std::span<const TensorShape> operands,
                    std::size_t first, double elements) {
  double bytes = 0;
  for (std::size_t i = first; i < operands.size() && i - first + 1 < traits.operands; ++i) {
    const int width = width_of(operands[i], traits.data);
    bytes += elements * width * (width * traits.vector_width > widest_access ? 2 : 1);
  }
  return bytes;
}

bool is_strided(const KernelTraits& traits) {
  const Loop loop = row_of(traits).loop;
  return loop == Loop::strided || loop == Loop::strided_casting;
}

// Strided kernels do not state how many operands they have: as many as the operation has tensors.
std::size_t input_count(const KernelTraits& traits, std::size_t tensors, std::size_t first) {
  if (traits.operands > 0) return traits.operands - 1U;
  return is_strided(traits) ? std::max<std::size_t>(tensors - first, 1) : 1;
}

/// The operand whose type the result has: the last one with dimensions, which numbers do not widen.
const TensorShape& typing_input(std::span<const TensorShape> shapes, std::size_t inputs) {
  std::size_t last = std::min(shapes.size(), inputs) - (inputs > 0);
  while (last > 0 && shapes[last].rank == 0) --last;
  return shapes[last];
}

}  // namespace

// The first inputs in argument order are read; copy_ names its destination first.
KernelWork elementwise_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& shapes = context.tensors.shapes;
  if (shapes.empty()) return work;
  const bool destination_first =
      op_row(context.op).kind == OpKind::cast && is_in_place(context.op) && shapes.size() > 1;
  const std::size_t first = destination_first ? 1 : 0;
  const std::size_t inputs = input_count(kernel.traits, shapes.size(), first);
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
  const FunctorResult result = functor_of(kernel.traits).result;
  int width =
      width_of(destination_first ? shapes[0] : typing_input(shapes, inputs), kernel.traits.data);
  if (result == FunctorResult::truth) width = 1;
  work.elements = elements;
  work.write_bytes = elements * width;
  work.index_dims = merged_dims(shapes);
  work.operands = static_cast<int>(inputs) + 1;
  if (is_strided(kernel.traits)) {
    work.l1_read_bytes = strided_loads(shapes, first, elements, kernel.traits.data);
  } else if (result == FunctorResult::other_type) {
    work.l1_read_bytes = vector_loads(kernel.traits, shapes, first, elements);
  }
  work.in_place = is_in_place(context.op) && !destination_first;
  // A small kernel under a large operation: shapes of another kernel. Trust the geometry.
  work.exact = elements <= 1.01 * capacity && elements > 0;
  return work;
}

}  // namespace tandem
