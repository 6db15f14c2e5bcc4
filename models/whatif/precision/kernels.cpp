#include "models/whatif/precision/kernels.h"

#include <algorithm>
#include <cmath>

#include "models/kernel/launch_rules.h"
#include "models/kernel/residual.h"
#include "models/kernel/time/attention.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

double turned_us(const RetimeContext& c, double elements, double lane_cycles) {
  return c.law.turned_floor_us + lane_us(c.gpu, elements * lane_cycles);
}

double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to) {
  const double bytes = static_cast<double>(elements) * (element_bytes(from) + element_bytes(to));
  return streamed_us(c.gpu, is_half(to) ? c.law.cast_down : c.law.cast_up, bytes);
}

KernelTime matmul_time(const RetimeContext& c, const OpContext& op, DataType type, bool padded) {
  const auto operands = product_operands(op);
  if (!operands || operands->left.rank < 2 || operands->right.rank < 2) return {};
  GemmShape shape = gemm_shape(*operands, type);
  if (shape.k <= 0 || shape.n <= 0 || shape.m <= 0 || shape.batch <= 0) return {};
  if (padded && shape.batch == 1) {
    const auto unit = std::llround(c.law.products.aligned_bytes / element_bytes(type));
    for (std::int64_t* side : {&shape.m, &shape.n, &shape.k}) *side = round_up(*side, unit);
  }
  return library_product_time(c.gpu, c.law.products, shape, c.time, c.law.floor_us);
}

KernelTime recurrent_product_time(const RetimeContext& c, const KernelClass& kernel,
                                  const OpContext& op, DataType type) {
  const MatrixProblem p = matrix_problem(kernel, op);
  if (p.batch <= 0 || p.m <= 0 || p.n <= 0 || p.k <= 0) return {};
  // The library names the result's columns first, a GemmShape its rows.
  const GemmShape shape{.m = p.n,
                        .n = p.m,
                        .k = p.k,
                        .batch = p.batch,
                        .type = type,
                        .a_k_major = kernel.traits.b_k_major,
                        .b_k_major = kernel.traits.a_k_major};
  return library_product_time(c.gpu, c.law.products, shape, c.time, c.law.floor_us);
}

double convolution_ratio(const RetimeContext& c, const OpTensors& operands, bool backward,
                         bool weight_gradient, DataType from, DataType to) {
  const TensorShape* x = operands.at(backward ? 1 : 0);
  const TensorShape* w = operands.at(backward ? 2 : 1);
  if (x == nullptr || w == nullptr) return directed_ratio(c.law.ratios.convolution, from, to);
  return convolution_ratio(c.law.ratios, c.law.products.aligned_bytes, *x, *w, weight_gradient,
                           from, to);
}

namespace {

/// One convolution layer without groups.
std::optional<ConvLayer> layer_of(const OpContext& op, const ConvShape& shape) {
  const OpArguments& args = op_row(op.op).arguments;
  const TensorShape* image = op.tensors.at(args.at(ArgumentName::input));
  const TensorShape* weight = op.tensors.at(args.at(ArgumentName::weight));
  if (image == nullptr || weight == nullptr || image->rank != image_rank || shape.groups != 1)
    return {};
  ConvLayer layer;
  layer.batch = shape.images;
  layer.in_channels = shape.in_channels;
  layer.out_channels = shape.out_channels;
  layer.height = image->dims[2];
  layer.width = image->dims[3];
  layer.kernel_h = static_cast<int>(weight->dims[2]);
  layer.kernel_w = static_cast<int>(weight->dims[3]);
  const double shrink = std::sqrt(static_cast<double>(shape.out_pixels) /
                                  static_cast<double>(std::max<std::int64_t>(shape.in_pixels, 1)));
  const auto after = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(side) * shrink));
  };
  set_strides(layer, after(layer.height), after(layer.width));
  return layer;
}

}  // namespace

SwitchedConvolution switched_convolution(const RetimeContext& c, const OpContext& op, Pass pass,
                                         DataType half) {
  SwitchedConvolution out;
  const auto shape = conv_shape(op);
  if (!shape) return out;
  auto layer = layer_of(op, *shape);
  if (!layer) return out;
  layer->pass = pass;
  layer->type = DataType::fp32;
  const double before = conv_time(c.gpu, *layer, c.time).time_us;
  layer->type = half;
  out.to = conv_time(c.gpu, *layer, c.time);
  if (!shape->channels_last) {
    const double images = static_cast<double>(shape->images);
    const double elements = images * static_cast<double>(shape->in_channels * shape->in_pixels) +
                            images * static_cast<double>(shape->out_channels * shape->out_pixels);
    out.transforms_us = streamed_us(c.gpu, c.law.cast_down, 2 * elements * element_bytes(half));
  }
  out.ratio = (out.to.time_us + out.transforms_us) / before;
  return out;
}

RetypedAttention retyped_attention(const RetimeContext& c, const OpContext& op, bool backward,
                                   DataType from, DataType to, double us) {
  const PrecisionLaw& law = c.law;
  const auto shape = attention_shape(op);
  if (!shape) {
    const double ratio = backward ? law.ratios.attention_backward : law.ratios.attention;
    const double total = carried_us(us, law.products.floor_us, directed_ratio(ratio, from, to));
    const double helper = backward && is_half(to) ? 0.15 * total : 0;
    return {total - 2 * helper, helper, helper};
  }
  RetypedAttention out;
  out.main_us = attention_us(c.gpu, c.time, *shape, to, backward);
  if (!backward) return out;
  const double queries = static_cast<double>(shape->heads) * static_cast<double>(shape->queries) *
                         static_cast<double>(shape->width);
  if (is_half(to)) {
    // Result and gradient are read, the queries' gradients in FP32 cleared, and read at the end.
    out.sums_us = streamed_us(c.gpu, law.attention_helper, 8 * queries);
    out.conversion_us = streamed_us(c.gpu, law.attention_helper, 6 * queries);
  } else {  // result times gradient, its sum, gradients cleared
    out.main_us += streamed_us(c.gpu, law.attention_delta, 20 * queries);
  }
  return out;
}

}  // namespace tandem
