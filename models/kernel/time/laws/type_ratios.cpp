#include "models/kernel/time/laws/type_ratios.h"

#include <algorithm>
#include <cmath>

#include "models/kernel/time/laws/library_products.h"
#include "sim/core/fields/field.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

std::int64_t pixels(const TensorShape& t) {
  std::int64_t n = 1;
  for (std::size_t i = 2; i < t.rank; ++i) n *= t.dims[i];
  return n;
}

double convolution_to_half(const TypeRatios& ratios, double aligned_bytes, const TensorShape& image,
                           const TensorShape& weight, bool weight_gradient, DataType half) {
  if (weight.rank < 3) return ratios.convolution;
  const bool depthwise =
      weight.dims[1] == 1 && image.dims[1] > 1 && weight.dims[0] >= image.dims[1];
  // In channels-last order both types run the library's kernels, which their taps bound.
  if (depthwise) return image.channels_last ? 1 : ratios.depthwise;
  // 1x1: the library multiplies matrices in place.
  const bool product = pixels(weight) == 1 && !weight_gradient;
  const bool loses_alignment = aligned_rows(pixels(image), DataType::fp32, aligned_bytes) &&
                               !aligned_rows(pixels(image), half, aligned_bytes);
  return product && loses_alignment ? ratios.misaligned_convolution : ratios.convolution;
}

/// What its arithmetic takes of the time before. The error function is a polynomial of FP32
/// multiply-adds; exponentials, divisions and conversions take other pipes' instructions as well,
/// so that only the issue slots bound them.
double arithmetic_share(const TypeRatios& ratios, const OpRow& row, const BytesChange& change) {
  if (!row.is(error_function)) return ratios.exponential_issue_cycles * change.issue_cycle_share;
  const double cycles = row.backward ? ratios.error_gradient_lane_cycles : ratios.error_lane_cycles;
  return cycles * change.lane_cycle_share;
}

}  // namespace

std::vector<Field<TypeRatios>> type_ratios_fields() {
  using R = TypeRatios;
  std::vector<Field<R>> fields;
  const auto add = field_adder(fields, "ratio");
  add("conv_ratio", "rest of a convolution in 16 bits over that in TF32", &R::convolution);
  add("conv_misaligned_ratio", "the same where rows lose the alignment of vector loads",
      &R::misaligned_convolution);
  add("layout_ratio", "layout transforms around a convolution, 16 bits over 32", &R::layout);
  add("depthwise_ratio", "depthwise convolutions, 16 bits over 32", &R::depthwise);
  add("attention_ratio", "attention without shapes, 16 bits over FP32", &R::attention);
  add("attention_backward_ratio", "the same, backward", &R::attention_backward);
  const auto cycles = field_adder(fields, "cycles");
  cycles("exponential_issue_cycles",
         "of one lane of an issue slot for a sigmoid or tangent of an element",
         &R::exponential_issue_cycles);
  cycles("softmax_lane_cycles",
         "of one FP32 lane for an element of a softmax whose rows a warp takes, one number a load",
         &R::softmax_lane_cycles);
  cycles("error_lane_cycles", "... for the error function (GELU)", &R::error_lane_cycles);
  cycles("error_gradient_lane_cycles", "... for its gradient", &R::error_gradient_lane_cycles);
  add("pointwise_dram_share", "share of the peak DRAM rate of element-wise kernels",
      &R::pointwise_dram_share);
  add("random_ratio", "least of kernels bound by random numbers, 16 bits over 32", &R::random);
  add("reduction_power", "of sums: how the bytes' time and the rest make up the whole",
      &R::reduction_power);
  add("strided_power", "the same, of kernels that compute the place of every element",
      &R::strided_power);
  add("mixed_slowdown", "time per byte where operands of both types meet", &R::mixed_slowdown);
  return fields;
}

double directed_ratio(double to_half, DataType from, DataType to) {
  if (is_half(from) == is_half(to)) return 1;
  return is_half(to) ? to_half : 1 / to_half;
}

double convolution_ratio(const TypeRatios& ratios, double aligned_bytes, const TensorShape& image,
                         const TensorShape& weight, bool weight_gradient, DataType from,
                         DataType to) {
  const DataType half = is_half(to) ? to : from;
  return directed_ratio(
      convolution_to_half(ratios, aligned_bytes, image, weight, weight_gradient, half), from, to);
}

double beside_bytes(double power, double bytes, double moving_share) {
  const double moving = std::pow(std::min(1.0, moving_share), power);
  return std::pow(1 + (std::pow(bytes, power) - 1) * moving, 1 / power);
}

double memory_ratio(const TypeRatios& ratios, const BytesChange& change) {
  if (change.bytes_before <= 0 || change.bytes_after <= 0) return 1;
  const OpRow& row = op_row(change.op);
  double ratio = change.bytes_after / change.bytes_before;
  const auto bounded = [&](double least) {
    return ratio < 1 ? std::max(ratio, least) : std::min(ratio, 1 / least);
  };
  // Arithmetic passes beside the bytes; what it has hidden of them comes to light in 32 bits.
  const auto beside_arithmetic = [&](double arithmetic) {
    const double moved = std::min(1.0, change.moving_share / ratios.pointwise_dram_share);
    return std::max(arithmetic, ratio < 1 ? ratio : ratio * moved);
  };
  const auto beside = [&](double power) { return beside_bytes(power, ratio, change.moving_share); };
  switch (change.kind) {
    case OpKind::dropout:
      if (!row.backward) ratio = bounded(ratios.random);
      break;
    case OpKind::reduction: ratio = beside(ratios.reduction_power); break;
    // Generated code computes the place of every element, and what it fuses, beside its bytes.
    case OpKind::generated: return beside(ratios.strided_power);
    case OpKind::pooling:
    case OpKind::pooling_backward:
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::other: return 1;  // bound by their index arithmetic
    default:
      if (row.is(arithmetic)) ratio = beside_arithmetic(arithmetic_share(ratios, row, change));
      if (change.warp_softmax) {
        ratio = beside_arithmetic(ratios.softmax_lane_cycles * change.lane_cycle_share);
      }
      if (change.strided) ratio = beside(ratios.strided_power);
  }
  if (change.mixed_after && !change.mixed_before) ratio *= ratios.mixed_slowdown;
  if (change.mixed_before && !change.mixed_after) ratio /= ratios.mixed_slowdown;
  return ratio;
}

}  // namespace tandem
