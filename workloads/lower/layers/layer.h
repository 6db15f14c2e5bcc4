// Layers that convolve, for the recipes that have them. Internal to workloads/lower.
#pragma once

#include <optional>

#include "models/kernel/choice/measured_layers.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {

inline std::int64_t pixels(const TensorShape& images) { return images.dims[2] * images.dims[3]; }

struct Layer {
  TensorShape input, weight, output;
  std::int64_t groups = 1;
  ConvLayer conv;  // of one group
  std::int64_t taps = 1;
  bool plain = false;  // 1x1, every pixel once
  /// In channels-last order, as the framework chooses it where either operand is in that order.
  bool channels_last = false;
};

/// `transposed`: the layer computes what the input gradient of a convolution from its output would.
std::optional<Layer> layer_of(TensorShape input, TensorShape weight, TensorShape output,
                              bool transposed);

/// The layer as models/kernel/choice decides on it.
LayerShape shape_of(const Layer& l, Pass pass);
/// What it is multiplied in.
DataType math_of(const Context& c, const Layer& l);

double total_us(const Kernels& kernels);

}  // namespace tandem::lowering
