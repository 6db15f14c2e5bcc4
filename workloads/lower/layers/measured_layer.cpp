#include "workloads/lower/layers/measured_layer.h"

#include <cmath>
#include <span>
#include <vector>

#include "models/kernel/choice/layer_rule.h"
#include "sim/core/tensors/data_type.h"

namespace tandem::lowering {
namespace {

std::int64_t whole(double n) { return std::max<std::int64_t>(1, std::llround(n)); }

TensorShape image(DataType type, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  TensorShape out;
  out.type = type;
  out.rank = image_rank;
  out.dims = {n, c, h, w};
  return out;
}

/// A measured layer as one of an operation: lines lie along the first side of an image.
std::optional<Layer> layer_like(const LayerShape& s, DataType type) {
  const std::int64_t images = whole(s.images), in = whole(s.in_channels),
                     out = whole(s.out_channels);
  const std::int64_t height = whole(s.line ? s.pixels : std::sqrt(s.pixels));
  const std::int64_t width = whole(s.pixels / static_cast<double>(height));
  const std::int64_t taps = whole(s.side * s.side);
  const std::int64_t rows = whole(s.line ? s.side * s.side : s.side / std::sqrt(s.aspect));
  const std::int64_t step = whole(s.line ? s.stride * s.stride : s.stride);
  TensorShape input = image(type, images, in, height, width);
  TensorShape weight = image(type, out, in / whole(s.groups), rows, taps / rows);
  TensorShape output =
      image(type, images, out, ceil_div(height, step), s.line ? width : ceil_div(width, step));
  input.channels_last = output.channels_last = s.channels_last;
  return layer_of(input, weight, output, false);
}

/// The layer as the table has it; nothing for volumes, and where the table's GPU or TF32 differ.
std::optional<LayerShape> measured_shape(const Context& c, const Layer& l, Pass pass) {
  const MeasuredOn* const m = c.input.measured;
  if (m == nullptr || m->layers.compute_major != c.gpu().compute_major) return {};
  const TensorShape* const first = c.tensor(0);
  if (first == nullptr || first->rank > image_rank) return {};
  if (l.input.type == DataType::fp32 && c.gpu().tensor_tf32_fma_per_clk <= 0) return {};
  const auto shape = conv_shape(context_of(c));
  if (!shape) return {};
  LayerShape out = layer_shape(*shape, pass);
  out.channels_last = l.channels_last;
  return out;
}

const LayerTime& time_of(const Layer& l, const MeasuredLayer& measured) {
  return is_half(l.input.type) ? measured.half : measured.full;
}

/// What the nearest measured layers take over the law, in the mean, the law itself being one of
/// them: where they are far, it tells more.
double over_law(const Context& c, const Layer& l, Pass pass, std::span<const NearLayer> near,
                const LayerClass& run, PassLaw law) {
  const MeasuredOn& m = *c.input.measured;
  const LoweringInput there{m.gpu, c.input.time, c.input.libraries, c.input.rules, c.input.sums};
  const Context on_measured{there, c.rule, c.op, c.operands, c.outputs};
  double sum = 0, weights = weight_at(m.layers, m.layers.law_distance);
  for (const NearLayer& n : near) {
    const auto like = layer_like(n.layer->shape, l.input.type);
    if (!like) continue;
    Kernels kernels;
    law(on_measured, *like, pass, run, kernels);
    const double by_law = total_us(kernels);
    if (by_law <= 0) continue;
    const LayerTime& time = time_of(l, *n.layer);
    const double unlike = time.layer_class == run ? 0 : m.layers.other_class_distance;
    const double weight = weight_at(m.layers, n.distance + unlike);
    sum += weight * std::log(time.us / by_law);
    weights += weight;
  }
  return std::exp(sum / weights);
}

}  // namespace

void add_measured(const Context& c, const Layer& l, Pass pass, PassLaw law, Kernels& out) {
  LayerClass run = layer_class_by_rule(c.gpu(), shape_of(l, pass), l.input.type);
  std::vector<NearLayer> near;
  if (const auto shape = measured_shape(c, l, pass)) {
    near = nearest_layers(c.input.measured->layers, *shape);
  }
  // As far as that, how a layer is run tells of others.
  if (!near.empty() && near.front().distance < c.input.measured->layers.other_class_distance) {
    run = time_of(l, *near.front().layer).layer_class;
  }
  Kernels kernels;
  law(c, l, pass, run, kernels);
  const double over = near.empty() ? 1 : over_law(c, l, pass, near, run, law);
  for (LoweredKernel& k : kernels) {
    k.duration_us *= over;
    out.push_back(std::move(k));
  }
}

}  // namespace tandem::lowering
