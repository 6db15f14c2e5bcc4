// Kernels whose work follows from a row of their kind: which arguments they walk over and read.
#include <cmath>

#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"

namespace tandem {
namespace {

// Products over the trailing dimensions that form one row.
double rows_of(const TensorShape& t, int row_dims) {
  double row = 1;
  for (int i = std::max(0, t.rank - row_dims); i < t.rank; ++i) {
    row *= static_cast<double>(t.dims[static_cast<std::size_t>(i)]);
  }
  return row > 0 ? static_cast<double>(t.elements()) / row : 0;
}

// Outputs of a reduction: the dimensions that are not listed in its second argument.
double reduction_outputs(const TensorShape& t, const OpContext& context) {
  if (context.arguments.size() < 2 || t.rank == 0) return 1;
  double outputs = static_cast<double>(t.elements());
  const auto dims = integers_of(context.arguments[1]);
  if (dims.empty()) return 1;
  for (const std::int64_t d : dims) {
    const std::int64_t i = from_front(d, t.rank);
    if (i >= 0 && i < t.rank)
      outputs /=
          static_cast<double>(std::max<std::int64_t>(t.dims[static_cast<std::size_t>(i)], 1));
  }
  return outputs;
}

// Runs of neighbouring reduced dimensions: {0, 2, 3} has two, whose indices are computed.
int reduced_groups(const OpContext& context) {
  if (context.arguments.size() < 2) return 1;
  const auto listed = integers_of(context.arguments[1]);
  std::vector<std::int64_t> dims(listed.begin(), listed.end());
  std::sort(dims.begin(), dims.end());
  int groups = dims.empty() ? 1 : 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i == 0 || dims[i] != dims[i - 1] + 1) ++groups;
  }
  return groups;
}

}  // namespace

KernelWork argument_work(const KernelClass& kernel, const OpContext& context) {
  const ArgumentUse& row = row_of(kernel.traits).use;
  const WorkRule rule = row_of(kernel.traits).work;
  KernelWork work;
  const TensorShape* main = context.tensors.at(row.main);
  if (main == nullptr && !context.tensors.shapes.empty()) main = &context.tensors.shapes[0];
  if (main == nullptr) return work;
  const DataType data = kernel.traits.data;
  work.exact = true;
  work.elements = static_cast<double>(main->elements());
  work.rows = row.row_dims > 0 ? rows_of(*main, row.row_dims) : 0;
  for (std::size_t i = 0; i < context.tensors.shapes.size(); ++i) {
    const std::uint8_t argument = context.tensors.arguments[i];
    if (argument < 32 && (row.reads >> argument & 1U) != 0) {
      work.read_bytes += bytes_of(context.tensors.shapes[i], data);
    }
  }
  work.write_bytes = work.elements * row.writes * width_of(*main, data);
  if (rule == WorkRule::reduction) {
    work.rows = reduction_outputs(*main, context);
    work.index_dims = reduced_groups(context);
    work.write_bytes = work.rows * width_of(*main, data);
  }
  if (kernel.family == KernelFamily::random) work.write_bytes += work.elements;  // the mask
  if (rule == WorkRule::padded_rows && work.rows > 0) {
    // A row takes as many registers as the next power of two has elements.
    work.elements = work.rows * std::exp2(std::ceil(std::log2(work.elements / work.rows)));
  }
  return work;
}

}  // namespace tandem
