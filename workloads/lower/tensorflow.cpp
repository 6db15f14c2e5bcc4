// Operations whose kernels TensorFlow chooses: convolutions and batch norms of images whose
// channels come last, and sums by its own kernels.
#include <algorithm>
#include <cmath>

#include "models/ops/op_table.h"
#include "sim/core/tensors/data_type.h"
#include "workloads/lower/layers/passes.h"
#include "workloads/lower/matrix.h"

namespace tandem::lowering {
namespace {

// Kernels of the rule of a convolution, by position; [0] adds up split parts of a product, [3] to
// [5] are those of add_main.
enum LayoutPart : std::size_t { to_first = 1, filter_order = 2, to_last = 6, pad_images = 7 };

/// A transform between orders of channels, tile by tile.
void add_order(const Context& c, const TensorShape& t, std::size_t part, Kernels& out) {
  if (t.dims[1] == 1 || pixels(t) == 1) return;  // the same in memory
  constexpr std::int64_t tile = 32;
  out.push_back(make(c, c.kernel(part), t.type,
                     {ceil_div(pixels(t), tile) * ceil_div(t.dims[1], tile) * t.dims[0]},
                     2 * bytes_of(t)));
}

void add_filter_order(const Context& c, const TensorShape& filter, Kernels& out) {
  const KernelTemplate& row = c.kernel(filter_order);
  const auto blocks = static_cast<double>(filter.elements()) / row.per_block;
  out.push_back(make(c, row, filter.type, {static_cast<std::int64_t>(std::ceil(blocks))},
                     2 * bytes_of(filter)));
}

/// TensorFlow computes in the order of the images where tensor cores want them so (conv_ops_gpu.cc,
/// ComputeInNhwcEnabled): FP16 since Volta, FP32 where the GPU has TF32; else channels come first.
bool computes_channels_last(const Context& c, DataType type) {
  return is_half(type) || (type == DataType::fp32 && c.gpu().tensor_tf32_fma_per_clk > 0);
}

/// Every pixel once: one product over the pixels of all images.
void add_pixel_product(const Context& c, const Layer& l, Pass pass, Kernels& out) {
  GemmShape shape;
  shape.type = l.input.type;
  if (shape.type == DataType::fp32 && c.gpu().tensor_tf32_fma_per_clk > 0) {
    shape.type = DataType::tf32;
  }
  const std::int64_t all = l.conv.batch * pixels(l.output);
  shape.m = pass == Pass::weight_gradient ? l.conv.in_channels : all;
  shape.n = pass == Pass::input_gradient ? l.conv.in_channels : l.conv.out_channels;
  shape.k = pass == Pass::forward          ? l.conv.in_channels
            : pass == Pass::input_gradient ? l.conv.out_channels
                                           : all;
  shape.a_k_major = pass != Pass::weight_gradient;
  shape.b_k_major = pass == Pass::input_gradient;
  add_product(c, shape, out);
}

/// cuDNN pads both sides alike; what is more on one side is padded before (conv_ops.cc).
bool is_lopsided(const Operands& operands, const OpRow& row) {
  const auto sides = integers_of(operands.argument(row.arguments.at(ArgumentName::padding)));
  return sides.size() == 4 && (sides[0] != sides[2] || sides[1] != sides[3]);
}

void add_library_pass(const Context& c, const Layer& l, Pass pass, Kernels& out) {
  const bool last = computes_channels_last(c, l.input.type);
  const bool forward = pass == Pass::forward, to_filter = pass == Pass::weight_gradient;
  if (is_lopsided(c.operands, op_row(c.op.name)) && pass != Pass::input_gradient) {
    const KernelTemplate& row = c.kernel(pad_images);
    const auto blocks = static_cast<double>(l.input.elements()) / row.per_block;
    out.push_back(make(c, row, l.input.type, {static_cast<std::int64_t>(std::ceil(blocks))},
                       2 * bytes_of(l.input)));
  }
  if (!to_filter) add_filter_order(c, l.weight, out);
  if (!last && pass != Pass::input_gradient) add_order(c, l.input, to_first, out);
  if (!last && !forward) add_order(c, l.output, to_first, out);
  add_main(c, l, math_of(c, l), pass, out);
  if (to_filter) add_filter_order(c, l.weight, out);
  if (!last && forward) add_order(c, l.output, to_last, out);
  if (!last && pass == Pass::input_gradient) add_order(c, l.input, to_last, out);
}

}  // namespace

void lower_nhwc_convolution(const Context& c, Kernels& out) {
  const bool backward = op_row(c.op.name).backward;
  const TensorShape* input = c.tensor(backward ? 1 : 0);
  const TensorShape* weight = c.tensor(backward ? 2 : 1);
  if (input == nullptr || weight == nullptr || c.outputs.empty()) return;
  const TensorShape* output = backward ? c.tensor(0) : &c.outputs[0];
  if (output == nullptr) return;
  const auto layer = layer_of(*input, *weight, *output, false);
  if (!layer || c.outputs[0].elements() == 0) return;
  const bool to_filter = backward && c.outputs[0].dims == weight->dims;
  const Pass pass = to_filter  ? Pass::weight_gradient
                    : backward ? Pass::input_gradient
                               : Pass::forward;
  if (layer->plain) {
    add_pixel_product(c, *layer, pass, out);
  } else {
    add_library_pass(c, *layer, pass, out);
  }
}

namespace {

enum NormPart : std::size_t { norm_to_first = 3, norm_to_last = 4, copy_statistics = 5 };

/// The factor of running statistics; 1 where a framework keeps none.
double running_factor(const Context& c) {
  double factor = 1;
  for (const Argument& a : c.operands.arguments) {  // epsilon, then the factor
    if (const double* value = std::get_if<double>(&a)) factor = *value;
  }
  return factor;
}

void add_statistics_copy(const Context& c, std::int64_t channels, Kernels& out) {
  LoweredKernel copy;
  copy.kind = ActivityKind::memcpy;
  copy.name = c.kernel(copy_statistics).name;
  copy.bytes = 4 * channels;
  copy.duration_us = stream_time_us(c, 2.0 * static_cast<double>(copy.bytes));
  out.push_back(std::move(copy));
}

bool trains(const Context& c) {
  for (const Argument& a : c.operands.arguments) {
    if (const bool* value = std::get_if<bool>(&a)) return *value;
  }
  return true;
}

}  // namespace

/// cuDNN trains norms with channels first, so FP32 images are brought there and back
/// (fused_batch_norm_op.cc); inference takes them as they are. Mean and variance that a running
/// average is made of are copied first.
void lower_nhwc_batch_norm(const Context& c, Kernels& out) {
  const TensorShape* image = c.tensor(0);
  if (image == nullptr || image->rank != image_rank) return;
  const bool backward = op_row(c.op.name).backward;
  const bool moves = image->channels_last && trains(c);
  if (moves) add_order(c, *image, norm_to_first, out);
  if (moves && backward) add_order(c, *image, norm_to_first, out);
  if (!backward && trains(c) && running_factor(c) < 1) {
    add_statistics_copy(c, image->dims[1], out);
    add_statistics_copy(c, image->dims[1], out);
  }
  add_batch_norm(c, out);
  if (moves) add_order(c, *image, norm_to_last, out);
}

namespace {

// TensorFlow's reduction_gpu_kernels.cu.h. Kernels of the rule, by position.
enum SumPart : std::size_t { whole_sum, row_sum, long_row_sum, column_sum, simple_sum, parts_sum };
constexpr std::int64_t long_row = 1024, many_columns = 4096;
constexpr std::int64_t one_block_elements = 4096, most_parts = 32, few_columns_of_blocks = 16;

void add_whole_sum(const Context& c, const TensorShape& in, Kernels& out) {
  const KernelTemplate& row = c.kernel(whole_sum);
  const std::int64_t elements = in.elements();
  const bool one = elements <= one_block_elements;
  const std::int64_t blocks = one ? 1 : std::min(most_parts, ceil_div(elements, row.threads));
  out.push_back(make(c, row, in.type, {blocks}, bytes_of(in)));
  if (!one) out.push_back(make(c, row, in.type, {1}, 4.0 * static_cast<double>(blocks)));
}

void add_column_sum(const Context& c, const TensorShape& in, std::int64_t columns, Kernels& out) {
  const std::int64_t rows = in.elements() / columns;
  if (columns > many_columns) {
    const KernelTemplate& row = c.kernel(simple_sum);
    out.push_back(make(c, row, in.type, {ceil_div(columns, row.threads)}, bytes_of(in)));
    return;
  }
  const std::int64_t wide = ceil_div(columns, lanes_per_warp);
  std::int64_t parts = 1;
  if (wide < few_columns_of_blocks) parts = std::min(ceil_div(rows, lanes_per_warp), most_parts);
  if (parts > 2 && parts < most_parts) parts = last_power(parts);
  LoweredKernel sum = make(c, c.kernel(column_sum), in.type, {wide, parts}, bytes_of(in));
  sum.geometry.block = {std::uint32_t{lanes_per_warp},
                        static_cast<std::uint32_t>(std::min<std::int64_t>(rows, lanes_per_warp)),
                        1};
  out.push_back(std::move(sum));
  if (parts == 1) return;
  out.push_back(make(c, c.kernel(parts_sum), in.type, {ceil_div(columns, lanes_per_warp)},
                     4.0 * static_cast<double>(parts * columns)));
}

}  // namespace

/// Sums of all elements, of rows, of columns, or of columns within planes.
void lower_column_sums(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || c.outputs.empty() || in->elements() == 0 || in->rank == 0) return;
  const TensorShape& result = c.outputs[0];
  const std::int64_t results = std::max<std::int64_t>(result.elements(), 1);
  if (results == 1) return add_whole_sum(c, *in, out);
  const std::int64_t last = in->dims[in->rank - 1U];
  const bool keeps_last = result.rank > 0 && result.dims[result.rank - 1U] == last && last > 1;
  if (!keeps_last) {
    const std::int64_t length = in->elements() / results;
    const KernelTemplate& row = c.kernel(length < long_row ? row_sum : long_row_sum);
    const std::int64_t rows_a_block = length < long_row ? row.threads / lanes_per_warp : 1;
    out.push_back(make(c, row, in->type, {ceil_div(results, rows_a_block)}, bytes_of(*in)));
    return;
  }
  if (results == last) return add_column_sum(c, *in, last, out);
  const KernelTemplate& row = c.kernel(simple_sum);
  out.push_back(make(c, row, in->type, {ceil_div(results, row.threads)}, bytes_of(*in)));
}

}  // namespace tandem::lowering
