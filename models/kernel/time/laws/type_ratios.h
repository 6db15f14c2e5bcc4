// Laws that know only a ratio: how long kernels take in 16 bits over FP32, of the part above their
// floor. For kernels whose measured time says more than any model of them.
#pragma once

#include <string_view>
#include <vector>

#include "models/ops/op_table.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// Documentation: type_ratios.cpp.
struct TypeRatios {
  double convolution = 0;
  double misaligned_convolution = 0;
  double layout = 0;
  double depthwise = 0;
  double attention = 0;
  double attention_backward = 0;
  double exponential_issue_cycles = 0;
  double softmax_lane_cycles = 0;
  double error_lane_cycles = 0, error_gradient_lane_cycles = 0;
  double pointwise_dram_share = 0;
  double random = 0;
  double reduction_power = 0;
  double strided_power = 0;
  double mixed_slowdown = 0;
};
std::vector<Field<TypeRatios>> type_ratios_fields();

/// The ratio to a type from that of FP32 to 16 bits; 1 between types of one width.
double directed_ratio(double to_half, DataType from, DataType to);

/// A convolution of `image` with `weight`. `aligned_bytes`: what the rows of fast kernels need.
double convolution_ratio(const TypeRatios& ratios, double aligned_bytes, const TensorShape& image,
                         const TensorShape& weight, bool weight_gradient, DataType from,
                         DataType to);

/// What decides the time of a memory-bound operation.
struct BytesChange {
  OpKind kind = OpKind::pointwise;
  std::string_view op;
  bool strided = false;                            // the kernel computes the place of every element
  bool mixed_before = false, mixed_after = false;  // operands of two floating types
  double bytes_before = 0, bytes_after = 0;        // of all operands
  /// Parts of the time before that moving the bytes takes at the DRAM's peak, and one cycle of an
  /// FP32 lane for each element.
  double moving_share = 0, lane_cycle_share = 0;
  bool warp_softmax = false;  // forward, of rows that a warp takes each
  /// The same of one cycle of a lane of an issue slot for each element.
  double issue_cycle_share = 0;
};
/// time^power = moving^power + rest^power: `moving_share`, what moving the bytes at the DRAM's peak
/// takes of the time before, is multiplied by `bytes`; the rest stays what it was.
double beside_bytes(double power, double bytes, double moving_share);

double memory_ratio(const TypeRatios& ratios, const BytesChange& change);

}  // namespace tandem
