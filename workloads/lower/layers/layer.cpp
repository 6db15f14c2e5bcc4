#include "workloads/lower/layers/layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernel/choice/layer_rule.h"

namespace tandem::lowering {
namespace {

/// Images of one dimension get a second one of size 1; of three, the first two become one.
TensorShape as_image(TensorShape t) {
  if (t.rank == 5) {
    t.dims[2] *= t.dims[3];
    t.dims[3] = t.dims[4];
    t.rank = image_rank;
  }
  if (t.rank == 3) {
    t.dims[3] = 1;
    t.rank = image_rank;
  }
  return t;
}

}  // namespace

std::optional<Layer> layer_of(TensorShape input, TensorShape weight, TensorShape output,
                              bool transposed) {
  input = as_image(input);
  weight = as_image(weight);
  output = as_image(output);
  if (input.rank != image_rank || weight.rank != image_rank || output.rank != image_rank) return {};
  if (transposed) std::swap(input, output);
  Layer l{input, weight, output, 1, {}, 1, false, input.channels_last || weight.channels_last};
  l.groups = std::max<std::int64_t>(1, input.dims[1] / std::max<std::int64_t>(weight.dims[1], 1));
  ConvLayer& s = l.conv;
  s.batch = input.dims[0];
  s.in_channels = weight.dims[1];
  s.out_channels = weight.dims[0] / l.groups;
  s.height = input.dims[2];
  s.width = input.dims[3];
  s.kernel_h = static_cast<int>(weight.dims[2]);
  s.kernel_w = static_cast<int>(weight.dims[3]);
  set_strides(s, output.dims[2], output.dims[3]);
  l.taps = static_cast<std::int64_t>(s.kernel_h) * s.kernel_w;
  l.plain = l.taps == 1 && s.stride_h * s.stride_w == 1 && l.groups == 1;
  return l;
}

LayerShape shape_of(const Layer& l, Pass pass) {
  LayerShape s;
  s.channels_last = l.channels_last;
  s.pass = pass;
  s.images = static_cast<double>(l.input.dims[0]);
  s.in_channels = static_cast<double>(l.input.dims[1]);
  s.out_channels = static_cast<double>(l.output.dims[1]);
  s.groups = static_cast<double>(l.groups);
  s.pixels = static_cast<double>(pixels(l.input));
  s.side = std::sqrt(static_cast<double>(l.taps));
  s.stride = std::sqrt(static_cast<double>(l.conv.stride_h * l.conv.stride_w));
  return s;
}

DataType math_of(const Context& c, const Layer& l) {
  return layer_math(c.gpu(), shape_of(l, Pass::forward), l.input.type);
}

double total_us(const Kernels& kernels) {
  double sum = 0;
  for (const LoweredKernel& k : kernels) sum += k.duration_us;
  return sum;
}

}  // namespace tandem::lowering
