#include "models/kernel/cost_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace tandem {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

double unique_elements(const TensorShape& t) {
  return static_cast<double>(t.elements()) /
         static_cast<double>(std::max<std::int64_t>(t.expanded, 1));
}

int width_of(const TensorShape& t, DataType fallback) {
  const int width = element_bytes(t.type);
  return width > 0 ? width : std::max(element_bytes(fallback), 1);
}

double bytes_of(const TensorShape& t, DataType fallback) {
  return unique_elements(t) * width_of(t, fallback);
}

double threads(const LaunchGeometry& g) {
  return double(g.grid[0]) * g.grid[1] * g.grid[2] * g.block[0] * g.block[1] * g.block[2];
}

// How a kernel uses the arguments of its operation: `main` is the tensor it walks over, `reads` the
// arguments it reads once each (bits), `writes` the bytes it writes as a multiple of the main
// tensor, `row_dims` the trailing dimensions that form a row.
struct WorkRow {
  std::string_view kind;
  std::uint8_t main;
  std::uint32_t reads;
  double writes;
  std::uint8_t row_dims;
};

constexpr WorkRow work_rows[] = {
    {"reduce", 0, 0b1, 0, 0},
    {"device_reduce", 0, 0b1, 0, 0},
    {"nll_loss", 0, 0, 0, 0},
    {"softmax_warp", 0, 0b1, 1, 1},
    {"softmax_warp_backward", 0, 0b11, 1, 1},
    {"softmax_block", 0, 0b1, 1, 1},
    {"softmax_block_shared", 0, 0b1, 1, 1},
    {"softmax_block_registers", 0, 0b1, 1, 1},
    {"softmax_block_backward", 0, 0b11, 1, 1},
    {"softmax_spatial", 0, 0b1, 1, 1},
    {"layer_norm", 0, 0b1, 1, 1},
    {"layer_norm_apply", 0, 0b1, 1, 1},
    {"layer_norm_input_gradient", 0, 0b11, 1, 1},
    {"norm_parameter_gradient", 0, 0b11, 0, 1},
    {"norm_moments", 0, 0b1, 0, 1},
    {"group_norm_gradients", 0, 0b11, 0, 2},
    {"bn_train", 0, 0b1, 1, 2},
    {"bn_train_single", 0, 0b1, 1, 2},
    {"bn_train_single_spec", 0, 0b1, 1, 2},
    {"bn_inference", 0, 0b1, 1, 2},
    {"bn_backward", 0, 0b11, 1, 2},
    {"bn_backward_single", 0, 0b11, 1, 2},
    {"bn_backward_single_spec", 0, 0b11, 1, 2},
    {"bn_train_nhwc", 0, 0b1, 1, 2},
    {"bn_backward_nhwc", 0, 0b11, 1, 2},
    {"bn_inference_nhwc", 0, 0b1, 1, 2},
    {"bn_statistics", 0, 0b1, 0, 2},
    {"bn_statistics_nhwc", 0, 0b1, 0, 2},
    {"bn_transform", 0, 0b1, 1, 2},
    {"bn_transform_nhwc", 0, 0b1, 1, 2},
    {"bn_backward_native", 0, 0b11, 1, 2},
    {"bn_backward_reduce", 0, 0b11, 0, 2},
    {"bn_backward_reduce_nhwc", 0, 0b11, 0, 2},
    {"bn_backward_elementwise", 0, 0b11, 1, 2},
    {"bn_backward_elementwise_nhwc", 0, 0b11, 1, 2},
    {"dropout_vectorized", 0, 0b1, 1, 0},
    {"dropout", 0, 0b1, 1, 0},
    {"distribution", 0, 0, 1, 0},
    {"avg_pool_backward", 1, 0b1, 1, 0},
    {"max_pool_backward", 1, 0b1, 1, 0},
    {"max_pool_backward_nhwc", 1, 0b1, 1, 0},
    {"adaptive_pool_backward", 1, 0b1, 1, 0},
    {"attention_helper", 1, 0b1001, 0.2, 0},
    {"lstm_cell", 0, 0b11, 0.75, 0},
    {"lstm_cell_backward", 0, 0b11, 1, 0},
    {"gru_cell", 0, 0b11, 0.67, 0},
    {"gru_cell_backward", 0, 0b11, 1, 0},
    {"scan", 0, 0b1, 1, 1},
    {"sort", 0, 0b1, 1, 1},
    {"radix_sort", 0, 0b1, 1, 0},
    {"index_elementwise", 0, 0b1, 1, 0},
};

const WorkRow* find_work(std::string_view kind) {
  for (const WorkRow& row : work_rows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

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
  const auto dims = parse_integers(context.arguments[1]);
  if (dims.empty()) return 1;
  for (const std::int64_t d : dims) {
    const std::int64_t i = d < 0 ? d + t.rank : d;
    if (i >= 0 && i < t.rank)
      outputs /=
          static_cast<double>(std::max<std::int64_t>(t.dims[static_cast<std::size_t>(i)], 1));
  }
  return outputs;
}

KernelWork row_work(const KernelClass& kernel, const WorkRow& row, const OpContext& context) {
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
  if (row.kind == "reduce") {
    work.rows = reduction_outputs(*main, context);
    work.write_bytes = work.rows * width_of(*main, data);
  }
  if (kernel.family == KernelFamily::random) work.write_bytes += work.elements;  // the mask
  return work;
}

// Strides of an operand in the iteration space of `rank` dimensions, innermost first; 0 where it is
// broadcast. Unknown strides: dense.
std::array<std::int64_t, 6> iteration_strides(const TensorShape& t) {
  std::array<std::int64_t, 6> out{};
  const bool known = std::any_of(t.strides.begin(), t.strides.end(), [](auto s) { return s != 0; });
  std::int64_t dense = 1;
  for (std::size_t i = 0; i < t.rank; ++i) {
    const std::size_t d = t.rank - 1U - i;
    out[i] = t.dims[d] == 1 ? 0 : known ? t.strides[d] : dense;
    dense *= t.dims[d];
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
                          return s[i] == s[last] * size[last];
                        });
    if (merges) {
      size[last] = size[last] * size[i];  // keeps the stride of the first one
      continue;
    }
    ++dims;
    last = i;
  }
  return std::max(dims, 1);
}

// The first inputs in argument order are read; copy_ names its destination first.
KernelWork elementwise_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& shapes = context.tensors.shapes;
  if (shapes.empty()) return work;
  const std::size_t inputs = kernel.traits.operands > 0 ? kernel.traits.operands - 1U : 1U;
  const bool destination_first = has(context.op, "copy_") && shapes.size() > 1;
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
  work.in_place = context.op.ends_with('_') && !destination_first;
  // A small kernel under a large operation: shapes of another kernel. Trust the geometry.
  work.exact = elements <= 1.01 * capacity && elements > 0;
  return work;
}

// A transform kernel serves one of the tensors of a convolution: the one whose 32 x 32 tiles of
// pixels and channels make up the grid.
KernelWork transform_work(const KernelClass& kernel, const OpContext& context) {
  const auto& g = context.geometry.grid;
  KernelWork work;
  const double width = std::max(element_bytes(kernel.traits.data), 2);
  double elements = 32.0 * g[0] * 32.0 * g[1] * g[2];
  for (const TensorShape& t : context.tensors.shapes) {
    if (t.rank < 3) continue;
    const std::int64_t pixels = t.elements() / std::max<std::int64_t>(t.dims[0] * t.dims[1], 1);
    if ((pixels + 31) / 32 == g[0] && (t.dims[1] + 31) / 32 == g[1] && t.dims[0] == g[2]) {
      elements = static_cast<double>(t.elements());
      work.exact = true;
    }
  }
  work.elements = elements;
  work.read_bytes = work.write_bytes = elements * width;
  return work;
}

// Rows gathered from a table: repeated rows are read once.
KernelWork gather_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const TensorShape* table = context.tensors.at(0);
  if (table == nullptr || table->rank == 0) return work;
  double ids = 0;
  for (std::size_t i = 1; i < context.tensors.shapes.size(); ++i) {
    const TensorShape& t = context.tensors.shapes[i];
    if (t.type == DataType::int64 || t.type == DataType::int32) {
      ids = std::max(ids, static_cast<double>(t.elements()));
    }
  }
  const double columns = static_cast<double>(table->dims[table->rank - 1U]);
  // aten::gather and friends give one index per element; embeddings one per row.
  const bool per_element = has(context.op, "aten::gather") || has(context.op, "scatter");
  if (per_element && ids >= columns) ids /= columns;
  const double rows = static_cast<double>(table->elements()) / std::max(columns, 1.0);
  const double distinct = rows * (1 - std::exp(-ids / std::max(rows, 1.0)));
  const double width = width_of(*table, kernel.traits.data);
  work.exact = ids > 0;
  work.elements = ids * columns;
  work.rows = ids;
  work.read_bytes = distinct * columns * width + ids * 8;
  work.write_bytes = work.elements * width;
  const bool accumulates = has(context.op, "index_add") || has(context.op, "index_put") ||
                           has(context.op, "scatter_add");
  if (accumulates) work.read_bytes += work.elements * width;  // the values, besides the rows
  return work;
}

KernelWork pool_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const TensorShape* image = context.tensors.at(0);
  if (image == nullptr) return work;
  const bool maximum = kind_name(kernel.traits).starts_with("max_pool");
  work.exact = true;
  work.read_bytes = bytes_of(*image, kernel.traits.data);
  // Window and stride: arguments 1 and 2; an empty stride means the window.
  double ratio = 1;
  for (const std::size_t argument : {std::size_t{2}, std::size_t{1}}) {
    if (argument >= context.arguments.size()) continue;
    const auto step = parse_integers(context.arguments[argument]);
    if (step.empty()) continue;
    ratio = static_cast<double>(step[0]) * static_cast<double>(step.back());
    break;
  }
  const double capacity = threads(context.geometry);
  work.elements = std::min(static_cast<double>(image->elements()) / ratio, capacity * 64);
  work.write_bytes = work.elements * (width_of(*image, kernel.traits.data) + (maximum ? 8 : 0));
  return work;
}

KernelWork all_tensors_work(const KernelClass& kernel, const OpContext& context, bool copies) {
  KernelWork work;
  for (const TensorShape& t : context.tensors.shapes) {
    work.read_bytes += bytes_of(t, kernel.traits.data);
    work.elements = copies ? work.elements + static_cast<double>(t.elements())
                           : std::max(work.elements, static_cast<double>(t.elements()));
  }
  work.write_bytes = copies ? work.read_bytes : 0;
  work.exact = work.elements > 0;
  if (!copies && work.exact) {  // generated kernels name their outputs last
    work.write_bytes = bytes_of(context.tensors.shapes.back(), kernel.traits.data);
    work.read_bytes -= work.write_bytes;
  }
  return work;
}

// Adds up what blocks that shared an output tile left in a workspace; how many is not stated.
constexpr double usual_splits = 8;

KernelWork split_reduce_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const MatrixProblem p = matrix_problem(kernel, context);
  work.elements = static_cast<double>(p.batch * p.m) * static_cast<double>(p.n);
  if (kernel.traits.pass == Pass::weight_gradient && conv_shape(context)) {
    work.elements /= static_cast<double>(std::max<std::int64_t>(p.batch, 1));
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

// Blocks of multi-tensor kernels take chunks of 65536 elements; the last chunk of a tensor is
// partly filled.
constexpr double chunk_elements = 65536;
constexpr double chunk_fill = 0.85;

KernelWork multi_tensor_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& g = context.geometry.grid;
  work.elements = double(g[0]) * g[1] * g[2] * chunk_elements * chunk_fill;
  work.read_bytes = work.write_bytes =
      work.elements * std::max(element_bytes(kernel.traits.data), 2);
  return work;
}

KernelWork matrix_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  work.matrix = matrix_problem(kernel, context);
  const MatrixProblem& p = work.matrix;
  work.exact = p.batch > 0;
  work.elements = static_cast<double>(p.batch * p.m) * static_cast<double>(p.n);
  work.read_bytes = p.a_bytes + p.b_bytes;
  work.write_bytes = p.c_bytes;
  return work;
}

KernelWork shaped_work(const KernelClass& kernel, const OpContext& context) {
  const std::string_view kind = kind_name(kernel.traits);
  if (kind == "vectorized" || kind.starts_with("unrolled") || kind == "strided" ||
      kind == "eigen" || kind == "bias") {
    return elementwise_work(kernel, context);
  }
  if (kind.starts_with("gemm") || kind == "gemv" || kind.starts_with("conv_x") || kind == "conv" ||
      kind == "conv_first_layer" || kind.starts_with("flash") || kind == "convolve_sgemm" ||
      kind == "winograd" || kind == "depthwise" || kind == "triton_template") {
    return matrix_work(kernel, context);
  }
  if (kind == "split_k_reduce" || kind == "wgrad_reduce") {
    return split_reduce_work(kernel, context);
  }
  if (kernel.family == KernelFamily::layout) return transform_work(kernel, context);
  if (kernel.family == KernelFamily::triton) return all_tensors_work(kernel, context, false);
  if (kind.starts_with("cat")) return all_tensors_work(kernel, context, true);
  if (const WorkRow* row = find_work(kind)) return row_work(kernel, *row, context);
  if (kernel.family == KernelFamily::embedding) return gather_work(kernel, context);
  if (kernel.family == KernelFamily::pooling) return pool_work(kernel, context);
  if (kernel.family == KernelFamily::index) return gather_work(kernel, context);
  return {};
}

}  // namespace

int elements_per_thread(const KernelClass& kernel) {
  const std::string_view kind = kind_name(kernel.traits);
  const bool narrow = element_bytes(kernel.traits.data) < 4;
  if (kind == "vectorized") return 8;
  if (kind.starts_with("unrolled")) return 4;
  if (kind == "strided") return narrow ? 4 : 2;
  if (kind == "index_elementwise") return 4;
  return 1;
}

KernelWork kernel_work(const KernelClass& kernel, const OpContext& context) {
  if (kind_name(kernel.traits) == "multi_tensor") return multi_tensor_work(kernel, context);
  KernelWork work = shaped_work(kernel, context);
  if (work.elements > 0 && work.exact) return work;
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
