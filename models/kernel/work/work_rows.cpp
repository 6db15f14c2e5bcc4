// Kernels whose work follows from a table: which arguments of their operation they walk and read.
#include <array>
#include <cmath>

#include "models/kernel/work/work_parts.h"

namespace tandem {
namespace {

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
    {"log_softmax_block", 0, 0b1, 1, 1},
    {"log_softmax_warp_backward", 0, 0b11, 1, 1},
    {"log_softmax_block_backward", 0, 0b11, 1, 1},
    {"softmax_block_shared", 0, 0b1, 1, 1},
    {"softmax_block_registers", 0, 0b1, 1, 1},
    {"softmax_block_backward", 0, 0b11, 1, 1},
    {"softmax_spatial", 0, 0b1, 1, 1},
    {"layer_norm", 0, 0b1, 1, 1},
    {"rms_norm", 0, 0b1, 1, 1},
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
  const auto dims = integers_of(context.arguments[1]);
  if (dims.empty()) return 1;
  for (const std::int64_t d : dims) {
    const std::int64_t i = d < 0 ? d + t.rank : d;
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
    work.index_dims = reduced_groups(context);
    work.write_bytes = work.rows * width_of(*main, data);
  }
  if (kernel.family == KernelFamily::random) work.write_bytes += work.elements;  // the mask
  if (row.kind.find("softmax_warp") != std::string_view::npos && work.rows > 0) {
    // A row takes as many registers as the next power of two has elements.
    work.elements = work.rows * std::exp2(std::ceil(std::log2(work.elements / work.rows)));
  }
  return work;
}

}  // namespace

KernelWork tabled_work(const KernelClass& kernel, const OpContext& context) {
  const WorkRow* row = find_work(kind_name(kernel.traits));
  return row == nullptr ? KernelWork{} : row_work(kernel, *row, context);
}

}  // namespace tandem
