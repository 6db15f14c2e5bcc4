#include "models/kernel/choice/layer_rule.h"

#include <cmath>

#include "models/kernel/choice/depthwise_rule.h"

namespace tandem {
namespace {

constexpr double load_bytes = 16;

bool divides(double part, double whole) { return std::fmod(whole, part) == 0; }

LayerClass depthwise_class(const LayerShape& s, DataType type) {
  const bool library = s.channels_last || (type == DataType::fp16 && library_runs_depthwise(s));
  return {library ? LayerPath::direct : LayerPath::framework};
}

}  // namespace

DataType layer_math(const GpuArch& gpu, const LayerShape& s, DataType type) {
  if (type != DataType::fp32) return type;
  constexpr double colours = 3, small_window = 9, whole_load = load_bytes / 4;
  // Images of few channels have kernels of their own for large windows that overlap.
  const bool first_layer =
      s.in_channels == colours * s.groups && s.side * s.side > small_window && s.stride < s.side;
  const bool aligned =
      divides(whole_load, s.out_channels) && (divides(whole_load, s.in_channels) || first_layer);
  return gpu.tensor_tf32_fma_per_clk > 0 && aligned ? DataType::tf32 : DataType::fp32;
}

LayerClass layer_class_by_rule(const GpuArch& gpu, const LayerShape& s, DataType type) {
  if (is_depthwise(s)) return depthwise_class(s, type);
  const bool tensor_cores = layer_math(gpu, s, type) != DataType::fp32;
  const bool whole_rows = divides(load_bytes, s.pixels * element_bytes(type));
  if (s.side == 1 && s.stride == 1 && s.groups == 1 &&
      (!tensor_cores || whole_rows || s.channels_last)) {
    return {LayerPath::product};
  }
  if (!tensor_cores) return {LayerPath::lanes};
  return {LayerPath::implicit, false, !s.channels_last};
}

}  // namespace tandem
