#include "models/kernel/choice/measured_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "models/kernel/choice/depthwise_rule.h"
#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

using M = MeasuredLayers;

std::vector<Field<M>> fields() {
  return {field<M>("compute_major", "count", "compute capability of the GPU that was measured",
                   &M::compute_major),
          field<M>("neighbours", "count", "measured layers that an estimate is drawn from",
                   &M::neighbours),
          field<M>("blur", "ratio", "distance within which layers count alike", &M::blur),
          field<M>("other_class_distance", "ratio",
                   "added to the distance of layers that were run another way than the traced one",
                   &M::other_class_distance),
          field<M>("far", "ratio", "distance beyond which a layer says nothing", &M::far),
          field<M>("law_distance", "ratio",
                   "distance of a layer that counts as much as the law of a step without a trace",
                   &M::law_distance),
          field<M>("size_power", "ratio",
                   "power of bytes and multiply-adds by which times of neighbours differ",
                   &M::size_power),
          field<M>("floor_us", "us", "part of a layer that does not follow its size", &M::floor_us),
          field<M>("unlike_residual", "ratio",
                   "power of a layer's residual that is carried over to another way of running it",
                   &M::unlike_residual)};
}

/// Layers of different kinds are not compared.
enum class LayerKind : std::uint8_t { first, pointwise, windowed, grouped, depthwise, widened };

constexpr double few_channels = 4;  // of images

LayerKind kind_of(const LayerShape& s) {
  if (is_depthwise(s)) {
    return s.out_channels == s.in_channels ? LayerKind::depthwise : LayerKind::widened;
  }
  if (s.groups > 1) return LayerKind::grouped;
  if (s.in_channels <= few_channels) return LayerKind::first;
  return s.side == 1 ? LayerKind::pointwise : LayerKind::windowed;
}

/// A number for what two layers that are compared have in common: a byte of it each.
std::uint32_t group_of(const LayerShape& s) {
  std::uint32_t group = s.channels_last ? 1 : 0;
  group = group << 8 | (s.line ? 1U : 0U);
  group = group << 8 | static_cast<std::uint8_t>(s.pass);
  return group << 8 | static_cast<std::uint8_t>(kind_of(s));
}

/// Whether rows of an image begin where fast products load them, in both types.
std::array<bool, 2> aligned(const LayerShape& s) {
  constexpr double load = 16;
  return {std::fmod(4 * s.pixels, load) == 0, std::fmod(2 * s.pixels, load) == 0};
}

/// Whether both have channels that loads hold whole, where these are the order of images, or
/// neither has: others run otherwise, in FP32 twenty times as long.
bool load_alike(const LayerShape& a, const LayerShape& b) {
  return !a.channels_last ||
         loads_hold_channels(a.in_channels) == loads_hold_channels(b.in_channels);
}

double octaves(double a, double b) {
  const double ratio = std::log2(a / b);
  return ratio * ratio;
}

/// Whether a group's channels fill tiles: the library pads and moves them where they do not.
bool fills_tiles(const LayerShape& s) {
  const auto width = static_cast<std::uint64_t>(s.in_channels / s.groups);
  return (width & (width - 1)) == 0;
}

/// Squares of octaves, and of steps where a choice depends on the number itself.
double distance(const LayerShape& a, const LayerShape& b, LayerKind kind) {
  constexpr double other_stride = 16, other_alignment = 16, other_window = 16;
  constexpr double width_weight = 4, group_weight = 2, side_weight = 4;
  double d = octaves(a.images, b.images) + octaves(a.pixels, b.pixels);
  const double sides = (a.side - b.side) * (a.side - b.side);
  switch (kind) {
    case LayerKind::grouped:
      d += width_weight * octaves(a.in_channels / a.groups, b.in_channels / b.groups) +
           width_weight * octaves(a.out_channels / a.in_channels, b.out_channels / b.in_channels) +
           group_weight * octaves(a.groups, b.groups) + sides;
      if (fills_tiles(a) != fills_tiles(b)) d += other_alignment;
      break;
    case LayerKind::depthwise:
    case LayerKind::widened:
      // Over time one kernel has windows of any length.
      d += octaves(a.in_channels, b.in_channels) + octaves(a.out_channels, b.out_channels) +
           side_weight * (a.line ? octaves(a.side * a.side, b.side * b.side) : sides);
      break;
    default:
      d += octaves(a.in_channels, b.in_channels) + octaves(a.out_channels, b.out_channels) + sides;
  }
  if (a.stride != b.stride) d += other_stride;
  d += octaves(a.dilation, b.dilation) + octaves(a.aspect, b.aspect);
  if (is_compact(a) != is_compact(b)) d += other_window;
  if (kind == LayerKind::pointwise && aligned(a) != aligned(b)) d += other_alignment;
  return d;
}

/// By which times of alike layers differ: bytes, and multiply-adds at the rate at which those of a
/// pixel take as long as a byte.
double size_of(const LayerShape& s) {
  constexpr double macs_a_byte = 50;
  const double out_pixels = s.pixels / (s.stride * s.stride);
  const double macs =
      s.images * out_pixels * s.out_channels * s.in_channels / s.groups * s.side * s.side;
  const double bytes = 2 * s.images * (s.in_channels * s.pixels + s.out_channels * out_pixels);
  return bytes + macs / macs_a_byte;
}

/// The nearest ones, `penalty_of` being what is added to the distance of one.
template <class PenaltyOf>
std::vector<NearLayer> nearest(const M& m, const LayerShape& shape, PenaltyOf penalty_of) {
  std::vector<NearLayer> found;
  const LayerKind kind = kind_of(shape);
  for (const MeasuredLayer& layer : m.layers.like(shape)) {
    const LayerShape& s = layer.shape;
    if (kind == LayerKind::depthwise && !s.line &&
        (library_runs_depthwise(s) != library_runs_depthwise(shape) || !load_alike(s, shape))) {
      continue;
    }
    double d = distance(shape, s, kind);
    if (d > m.far) continue;
    d += penalty_of(layer);
    found.push_back({d, &layer});
  }
  const auto nearer = [](const NearLayer& a, const NearLayer& b) {
    return a.distance < b.distance;
  };
  const std::size_t wanted =
      std::min<std::size_t>(found.size(), static_cast<std::size_t>(m.neighbours));
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(),
                    nearer);
  found.resize(wanted);
  return found;
}

/// The nearest ones, `class_of` telling how a measured layer is run where the traced one is.
template <class ClassOf>
std::vector<NearLayer> neighbours(const M& m, const LayerShape& shape, const LayerClass& traced,
                                  ClassOf class_of) {
  return nearest(m, shape, [&](const MeasuredLayer& layer) {
    return class_of(layer) == traced ? 0 : m.other_class_distance;
  });
}

double weight_of(const M& m, const NearLayer& n) { return weight_at(m, n.distance); }

/// The geometric mean of what they take, the class and share of transforms of the nearest.
template <class TimeOf>
LayerTime estimate(const M& m, const LayerShape& shape, const std::vector<NearLayer>& near,
                   TimeOf time_of) {
  double sum = 0, weights = 0;
  for (const NearLayer& n : near) {
    const double weight = weight_of(m, n);
    const double body = std::max(time_of(*n.layer).us - m.floor_us, 0.3 * m.floor_us);
    sum += weight *
           (std::log(body) + m.size_power * std::log(size_of(shape) / size_of(n.layer->shape)));
    weights += weight;
  }
  const LayerTime& nearest = time_of(*near.front().layer);
  LayerTime out{nearest.layer_class, m.floor_us + std::exp(sum / weights), 0};
  out.turning_us = out.us * nearest.turning_us / nearest.us;
  return out;
}

/// The measured layer that is `shape`, number of images and all; null: there is none.
const MeasuredLayer* find_layer(const M& m, const LayerShape& shape) {
  for (const MeasuredLayer& layer : m.layers.like(shape)) {
    if (layer.shape.images == shape.images && same_layer(layer.shape, shape)) return &layer;
  }
  return nullptr;
}

const LayerTime& time_in(const MeasuredLayer& layer, bool half) {
  return half ? layer.half : layer.full;
}

}  // namespace

// By group, then by place in the file, so that of equally near layers the first of it is taken.
LayerTable::LayerTable(std::vector<MeasuredLayer> layers) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  order.reserve(layers.size());
  for (const MeasuredLayer& layer : layers) order.emplace_back(group_of(layer.shape), order.size());
  std::sort(order.begin(), order.end());
  layers_.reserve(layers.size());
  for (const auto& [group, position] : order) layers_.push_back(layers[position]);
}

std::span<const MeasuredLayer> LayerTable::like(const LayerShape& shape) const {
  const auto group = group_of(shape);
  const auto begin = std::partition_point(
      layers_.begin(), layers_.end(),
      [&](const MeasuredLayer& layer) { return group_of(layer.shape) < group; });
  const auto end = std::partition_point(begin, layers_.end(), [&](const MeasuredLayer& layer) {
    return group_of(layer.shape) == group;
  });
  return {begin, end};
}

bool is_depthwise(const LayerShape& shape) {
  return shape.groups > 1 && shape.groups == shape.in_channels;
}

bool is_compact(const LayerShape& shape) { return shape.dilation == 1 && shape.aspect == 1; }

LayerShape layer_shape(const ConvShape& c, Pass pass) {
  const auto n = [](std::int64_t v) { return static_cast<double>(std::max<std::int64_t>(v, 1)); };
  LayerShape s;
  s.channels_last = c.channels_last;
  s.line = c.line;
  s.pass = pass;
  s.images = n(c.images);
  s.in_channels = n(c.in_channels);
  s.out_channels = n(c.out_channels);
  s.groups = n(c.groups);
  s.pixels = n(c.in_pixels);
  s.side = std::sqrt(n(c.taps));
  s.stride = std::sqrt(n(c.strides));
  s.dilation = n(c.dilation);
  s.aspect = c.aspect;
  return s;
}

bool same_layer(const LayerShape& a, const LayerShape& b) {
  return a.in_channels == b.in_channels && a.out_channels == b.out_channels &&
         a.groups == b.groups && a.pixels == b.pixels && a.side == b.side && a.stride == b.stride &&
         a.dilation == b.dilation && a.aspect == b.aspect;
}

std::vector<NearLayer> nearest_layers(const M& m, const LayerShape& shape) {
  return nearest(m, shape, [](const MeasuredLayer&) { return 0.0; });
}

double weight_at(const M& m, double distance) {
  return 1 / ((distance + m.blur) * (distance + m.blur));
}

MeasuredLayers load_measured_layers(const std::string& path) {
  const ExtraSection<M> gpu{"gpu", [](const Json& json, const Place& place, M& out) {
                              read_json(json, place, Range::positive, out.gpu);
                            }};
  MeasuredLayers out = load_constants<MeasuredLayers>(path, fields(), gpu);
  out.layers = load_layer_table(std::filesystem::path(path).replace_extension(".csv").string());
  return out;
}

std::optional<MeasuredChange> type_change(const M& m, const LayerShape& shape, bool to_half,
                                          const LayerClass& traced) {
  const auto near = neighbours(m, shape, traced, [&](const MeasuredLayer& layer) {
    return time_in(layer, !to_half).layer_class;
  });
  if (near.empty()) return {};
  const auto in = [&](bool half) {
    return estimate(m, shape, near,
                    [=](const MeasuredLayer& l) -> const LayerTime& { return time_in(l, half); });
  };
  return MeasuredChange{in(!to_half), in(to_half)};
}

std::optional<MeasuredChange> order_change(const M& m, const LayerShape& shape, bool half,
                                           const LayerClass& traced) {
  LayerShape last = shape;
  last.channels_last = true;
  const auto class_of = [&](const MeasuredLayer& l) { return time_in(l, half).layer_class; };
  const auto time_of = [=](const MeasuredLayer& l) -> const LayerTime& { return time_in(l, half); };
  const auto before = neighbours(m, shape, traced, class_of);
  if (before.empty()) return {};
  // Measured in both orders: those that were run as the traced layer is tell of the other order.
  std::vector<NearLayer> after;
  for (const NearLayer& n : before) {
    LayerShape turned = n.layer->shape;
    turned.channels_last = true;
    const MeasuredLayer* twin = find_layer(m, turned);
    if (twin != nullptr) after.push_back({n.distance, twin});
  }
  if (after.empty()) return {};
  MeasuredChange out{estimate(m, shape, before, time_of), estimate(m, last, after, time_of)};
  // The framework runs depthwise layers itself in BF16, the library in FP16, which was measured.
  out.as_traced = traced.path != LayerPath::framework || out.from.layer_class == traced;
  return out;
}

namespace {

/// The same layer at the measured batch that is nearest to `images`.
const MeasuredLayer& at_batch(const M& m, const MeasuredLayer& layer, double images) {
  const MeasuredLayer* nearest = &layer;
  for (const MeasuredLayer& l : m.layers.like(layer.shape)) {
    if (same_layer(l.shape, layer.shape) &&
        octaves(l.shape.images, images) < octaves(nearest->shape.images, images)) {
      nearest = &l;
    }
  }
  return *nearest;
}

}  // namespace

std::optional<MeasuredChange> batch_change(const M& m, const LayerShape& shape, double images,
                                           bool half, const LayerClass& traced) {
  // Where neighbours disagree, the library keeps what it has more often than not.
  constexpr double agreement = 0.7;
  const auto time_of = [=](const MeasuredLayer& l) -> const LayerTime& { return time_in(l, half); };
  const auto class_of = [&](const MeasuredLayer& l) { return time_of(l).layer_class; };
  const auto before = neighbours(m, shape, traced, class_of);
  if (before.empty() || !(class_of(*before.front().layer) == traced)) return {};
  std::vector<NearLayer> after;
  for (const NearLayer& n : before) after.push_back({n.distance, &at_batch(m, *n.layer, images)});
  LayerShape resized = shape;
  resized.images = images;
  MeasuredChange out{estimate(m, shape, before, time_of), estimate(m, resized, after, time_of)};
  constexpr double itself = 0.01;
  out.known = before.front().distance < itself &&
              octaves(after.front().layer->shape.images, images) < itself;
  double agreeing = 0, all = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!(class_of(*before[i].layer) == traced)) continue;
    const double weight = weight_of(m, before[i]);
    all += weight;
    if (class_of(*after[i].layer) == out.to.layer_class) agreeing += weight;
  }
  if (agreeing < agreement * all) out.to.layer_class = traced;
  return out;
}

double carried_layer_us(const M& m, const MeasuredChange& change, double us) {
  if (!change.as_traced) return change.to.us;
  const double floor = std::min(m.floor_us, 0.9 * us);
  const bool alike = change.from.layer_class == change.to.layer_class;
  const double residual = (us - floor) / (change.from.us - m.floor_us);
  return floor + (change.to.us - m.floor_us) * std::pow(residual, alike ? 1 : m.unlike_residual);
}

}  // namespace tandem
