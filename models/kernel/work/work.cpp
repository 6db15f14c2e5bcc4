#include "models/kernel/work/work.h"

#include <algorithm>
#include <cmath>

#include "models/kernel/launch_rules.h"
#include "models/kernel/work/operand_bytes.h"
#include "models/ops/op_table.h"

namespace tandem {
namespace {

// A transform kernel serves one of the tensors of a convolution: the one whose 32 x 32 tiles of
// pixels and channels make up the grid.
KernelWork transform_work(const KernelClass& kernel, const OpContext& context) {
  const auto& g = context.geometry.grid;
  KernelWork work;
  const double width = std::max(element_bytes(kernel.traits.data), 2);
  double elements = double(transform_tile) * g[0] * double(transform_tile) * g[1] * g[2];
  for (const TensorShape& t : context.tensors.shapes) {
    if (!turns(context.geometry, t)) continue;
    elements = static_cast<double>(t.elements());
    work.exact = true;
  }
  work.elements = elements;
  work.read_bytes = work.write_bytes = elements * width;
  return work;
}

KernelWork matrix_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  work.matrix = matrix_problem(kernel, context);
  const MatrixProblem& p = work.matrix;
  work.exact = p.batch > 0;
  work.elements =
      static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n);
  work.read_bytes = p.a_bytes + p.b_bytes + p.mask_bytes;
  work.write_bytes = p.c_bytes;
  return work;
}

// Bags of an embedding bag: entries of its second index tensor, the offsets.
double bags(const OpContext& context, double ids) {
  const TensorShape* offsets = context.tensors.at(2);
  return offsets != nullptr && offsets->elements() > 0 ? static_cast<double>(offsets->elements())
                                                       : ids;
}

// Gates of a recurrent cell: a thread has one hidden unit. `values` per unit are read and written.
KernelWork cell_work(const KernelClass& kernel, const OpContext& context) {
  constexpr double gate_reads = 9, gate_writes = 6;
  KernelWork work;
  work.elements = threads(context.geometry);
  const double width = std::max(element_bytes(kernel.traits.data), 2);
  work.read_bytes = work.elements * gate_reads * width;
  work.write_bytes = work.elements * gate_writes * width;
  work.exact = true;
  return work;
}

bool is_integer(const TensorShape& t) {
  return t.type == DataType::int64 || t.type == DataType::int32;
}

// What an index of the first dimension picks.
double row_elements(const TensorShape& table) {
  const double rows = std::max(1.0, static_cast<double>(table.dims[0]));
  return std::max(1.0, static_cast<double>(table.elements()) / rows);
}

// Rows gathered from a table: repeated rows are read once. Where the profiler did not record the
// index (in a list of them), a block of the kernel that copies whole rows has one.
KernelWork gather_work(const KernelClass& kernel, const OpContext& context, bool summed) {
  KernelWork work;
  const TensorShape* table = context.tensors.at(0);
  if (table == nullptr || table->rank == 0) return work;
  double ids = 0;
  for (std::size_t i = 1; i < context.tensors.shapes.size(); ++i) {
    const TensorShape& t = context.tensors.shapes[i];
    if (is_integer(t)) ids = std::max(ids, static_cast<double>(t.elements()));
  }
  const bool whole_rows = kernel.traits.kind == Kind::row_gather;
  const bool in_list = op_row(context.op).layer == Layer::index;
  if (ids == 0 && whole_rows && in_list) ids = context.geometry.grid[0];
  const double columns =
      whole_rows ? row_elements(*table) : static_cast<double>(table->dims[table->rank - 1U]);
  // aten::gather and friends give one index per element; embeddings one per row.
  const bool every_element = op_row(context.op).is(per_element);
  if (every_element && ids >= columns) ids /= columns;
  const double rows = static_cast<double>(table->elements()) / std::max(columns, 1.0);
  const double distinct = rows * (1 - std::exp(-ids / std::max(rows, 1.0)));
  const double width = width_of(*table, kernel.traits.data);
  work.exact = ids > 0;
  work.elements = ids * columns;
  work.rows = ids;
  if (summed) work.rows = bags(context, ids) * columns / 32;
  work.read_bytes = distinct * columns * width + ids * 8;
  work.write_bytes = work.elements * width;
  return work;
}

// Sorting, scanning and selecting indices: the largest index tensor, or the first one there is. An
// index that the profiler did not record names a row for each row of the values.
KernelWork ids_work(const OpContext& context) {
  KernelWork work;
  const TensorShape* largest = nullptr;
  for (const TensorShape& t : context.tensors.shapes) {
    const bool better =
        largest == nullptr || (is_integer(t) && !is_integer(*largest)) ||
        (is_integer(t) == is_integer(*largest) && t.elements() > largest->elements());
    if (better) largest = &t;
  }
  if (largest == nullptr) return work;
  constexpr int index_bytes = 8;
  work.elements = static_cast<double>(largest->elements());
  work.read_bytes = work.write_bytes = bytes_of(*largest, DataType::int64);
  const TensorShape* table = context.tensors.at(0);
  if (!is_integer(*largest) && table != nullptr && op_row(context.op).kind == OpKind::scatter) {
    const TensorShape& values = context.tensors.shapes.back();
    work.elements = static_cast<double>(values.elements()) / row_elements(*table);
    work.read_bytes = work.write_bytes = work.elements * index_bytes;
  }
  work.exact = true;
  return work;
}

// Values written or added to places of a tensor: the values decide, which stand behind the indices.
KernelWork put_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  for (std::size_t i = 1; i < context.tensors.shapes.size(); ++i) {
    const TensorShape& t = context.tensors.shapes[i];
    work.read_bytes += bytes_of(t, kernel.traits.data);
    if (is_integer(t)) continue;
    work.elements = static_cast<double>(t.elements());
    work.write_bytes = bytes_of(t, kernel.traits.data);
  }
  work.read_bytes += work.write_bytes;  // what is there already
  work.exact = work.elements > 0;
  return work;
}

KernelWork pool_work(const KernelClass& kernel, const OpContext& context, bool maximum) {
  KernelWork work;
  const TensorShape* image = context.tensors.at(0);
  if (image == nullptr) return work;
  work.exact = true;
  work.read_bytes = bytes_of(*image, kernel.traits.data);
  // Window and stride: arguments 1 and 2; an empty stride means the window.
  double ratio = 1;
  for (const std::size_t argument : {std::size_t{2}, std::size_t{1}}) {
    if (argument >= context.arguments.size()) continue;
    const auto step = integers_of(context.arguments[argument]);
    if (step.empty()) continue;
    ratio = static_cast<double>(step[0]) * static_cast<double>(step.back());
    break;
  }
  const double capacity = threads(context.geometry);
  work.elements = std::min(static_cast<double>(image->elements()) / ratio, capacity * 64);
  work.write_bytes = work.elements * (width_of(*image, kernel.traits.data) + (maximum ? 8 : 0));
  return work;
}

KernelWork concatenation_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  for (const TensorShape& t : context.tensors.shapes) {
    work.read_bytes += bytes_of(t, kernel.traits.data);
    work.elements += static_cast<double>(t.elements());
  }
  work.write_bytes = work.read_bytes;
  work.exact = work.elements > 0;
  return work;
}

// Adds up what blocks that shared an output tile left in a workspace; how many is not stated. The
// name does not tell the pass of the product either: blocks of two dimensions (cuBLASLt's) cover
// the result with a thread for each element.
constexpr double usual_splits = 8;

KernelWork split_reduce_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const MatrixProblem p = matrix_problem(kernel, context);
  work.elements = static_cast<double>(p.batch * p.m) * static_cast<double>(p.n);
  if (kernel.traits.pass == Pass::weight_gradient && conv_shape(context)) {
    work.elements /= static_cast<double>(std::max<std::int64_t>(p.batch, 1));
  }
  if (context.geometry.block[1] > 1) {
    work.elements = std::min(work.elements, threads(context.geometry));
  }
  work.write_bytes = work.elements * std::max(element_bytes(kernel.traits.data), 2);
  work.read_bytes = work.elements * 4 * usual_splits;
  work.exact = work.elements > 0;
  return work;
}

// Without shapes: every thread of the grid handles as many elements as its kind usually does.
KernelWork geometry_work(const KernelClass& kernel, const LaunchGeometry& geometry) {
  KernelWork work;
  const int width = std::max(element_bytes(kernel.traits.data), 2);
  work.elements = threads(geometry) * elements_per_thread(kernel);
  const int operands = std::max<int>(kernel.traits.operands, 2);
  work.write_bytes = work.elements * width;
  work.read_bytes = work.write_bytes * (operands - 1);
  return work;
}

// The last chunk of a tensor is partly filled; a launch that holds the most of chunks has few
// tensors. Shares: counted sectors of 12 networks on H200, median.
constexpr double chunk_fill = 0.85, chunk_fill_of_most = 0.95;

KernelWork multi_tensor_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& g = context.geometry.grid;
  const double chunks = double(g[0]) * g[1] * g[2];
  work.elements = chunks * multi_tensor_chunk *
                  (chunks == multi_tensor_chunks ? chunk_fill_of_most : chunk_fill);
  work.write_bytes = work.elements * std::max(element_bytes(kernel.traits.data), 2);
  work.read_bytes = work.write_bytes * std::max(kernel.traits.operands - 1, 1);
  return work;
}

// A parameter, states of its size that go with it, and its gradient, the last of them; numbers such
// as the rate stand between. All are read, and all but the gradient written.
KernelWork update_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const TensorShape* parameter = context.tensors.at(0);
  if (parameter == nullptr) return work;
  double gradient_bytes = 0;
  work.written = -1;
  for (const TensorShape& t : context.tensors.shapes) {
    if (t.elements() != parameter->elements()) continue;
    gradient_bytes = bytes_of(t, kernel.traits.data);
    work.read_bytes += gradient_bytes;
    ++work.written;
  }
  if (work.written < 1) return {};
  work.elements = static_cast<double>(parameter->elements());
  work.write_bytes = work.read_bytes - gradient_bytes;
  work.in_place = work.exact = true;
  return work;
}

KernelWork shaped_work(const KernelClass& kernel, const OpContext& context) {
  switch (row_of(kernel.traits).work) {
    case WorkRule::none: return {};
    case WorkRule::elementwise: return elementwise_work(kernel, context);
    case WorkRule::concatenation: return concatenation_work(kernel, context);
    case WorkRule::generated: return generated_work(kernel, context);
    case WorkRule::multi_tensor: return multi_tensor_work(kernel, context);
    case WorkRule::update: return update_work(kernel, context);
    case WorkRule::arguments:
    case WorkRule::padded_rows:
    case WorkRule::reduction: return argument_work(kernel, context);
    case WorkRule::matrix: return matrix_work(kernel, context);
    case WorkRule::split_sum: return split_reduce_work(kernel, context);
    case WorkRule::transform: return transform_work(kernel, context);
    case WorkRule::cell: return cell_work(kernel, context);
    case WorkRule::window: return pool_work(kernel, context, false);
    case WorkRule::max_window: return pool_work(kernel, context, true);
    case WorkRule::gather: return gather_work(kernel, context, false);
    case WorkRule::bags: return gather_work(kernel, context, true);
    case WorkRule::indices: return ids_work(context);
    case WorkRule::put: return put_work(kernel, context);
  }
  return {};
}

}  // namespace

int elements_per_thread(const KernelClass& kernel) {
  switch (row_of(kernel.traits).loop) {
    case Loop::vectorized: return 8;
    case Loop::unrolled:
    case Loop::casting:
    case Loop::strided_casting:
    case Loop::indexed: return 4;
    case Loop::strided: return element_bytes(kernel.traits.data) < 4 ? 4 : 2;
    case Loop::none:
    case Loop::chunks: break;
  }
  return 1;
}

KernelWork kernel_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work = shaped_work(kernel, context);
  const bool chunks = row_of(kernel.traits).work == WorkRule::multi_tensor;
  if (chunks || (work.elements > 0 && work.exact)) return work;
  const bool matrix = kernel.family == KernelFamily::gemm ||
                      kernel.family == KernelFamily::convolution ||
                      kernel.family == KernelFamily::attention;
  if (!matrix && !(work.elements > 0 && kernel.family == KernelFamily::layout)) {
    const bool exact = work.exact;
    work = geometry_work(kernel, context.geometry);
    work.exact = exact;
  }
  return work;
}

}  // namespace tandem
