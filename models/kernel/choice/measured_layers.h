// What single layers take and how a library runs them, measured: a library's choice among its
// kernels is not documented, and no model of the hardware tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/kernel/choice/layer_class.h"
#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// One pass of a convolution layer, in the numbers by which layers are compared.
struct LayerShape {
  bool channels_last = false;
  Pass pass = Pass::forward;
  double images = 0, in_channels = 0, out_channels = 0, groups = 1;
  double pixels = 0;  // of the input
  double side = 1;    // of the filter: the root of its taps
  double stride = 1;  // the root of the product of its strides
  bool line = false;  // over one dimension: sound, text
  double dilation = 1;
  double aspect = 1;  // of the filter of an image: its last side over its first
};
LayerShape layer_shape(const ConvShape& shape, Pass pass);
/// Whether every channel has filters of its own.
bool is_depthwise(const LayerShape& shape);
/// Whether the taps of the filter lie side by side in a square.
bool is_compact(const LayerShape& shape);

/// How a layer was run, with all kernels of the pass.
struct LayerTime {
  LayerClass layer_class;
  double us = 0;
  double turning_us = 0;  // of these, what brings images into another order
};

struct MeasuredLayer {
  LayerShape shape;
  LayerTime full, half;  // FP32 (in TF32), FP16
};

/// Measured layers, those side by side that are compared with each other: a what-if looks for the
/// neighbours of every convolution, and most of the table is of other passes, orders and kinds.
class LayerTable {
 public:
  LayerTable() = default;
  explicit LayerTable(std::vector<MeasuredLayer> layers);
  const std::vector<MeasuredLayer>& all() const { return layers_; }
  /// Those of the order of images, pass, dimensions and kind of `shape`, in the order of the file.
  std::span<const MeasuredLayer> like(const LayerShape& shape) const;

 private:
  std::vector<MeasuredLayer> layers_;
};

/// Documentation of the constants: measured_layers.cpp.
struct MeasuredLayers {
  std::string name;
  std::string gpu;  // of the catalogue: that the layers ran on
  int compute_major = 0;
  int neighbours = 0;
  double blur = 0;
  double other_class_distance = 0;
  double far = 0;
  double law_distance = 0;
  double size_power = 0;
  double floor_us = 0;
  double unlike_residual = 0;
  LayerTable layers;
  std::vector<Provenance> origins;
};

/// Reads configs/kernels/layers.csv, a pass of a layer a line. Errors: InputError
/// `file:line N: found X, expected Y`.
LayerTable load_layer_table(const std::string& path);

/// Reads configs/kernels/layers.json and the table beside it, which ends in .csv. Errors:
/// InputError `file:key: found X, expected Y`.
MeasuredLayers load_measured_layers(const std::string& path);

/// Whether two layers of one order of images and pass differ by the number of images alone.
bool same_layer(const LayerShape& a, const LayerShape& b);

/// A measured layer near another one.
struct NearLayer {
  double distance = 0;  // squares of octaves, and steps where a choice depends on the number itself
  const MeasuredLayer* layer = nullptr;
};
/// The measured layers that tell of `shape`, however they were run, nearest first; none: all are
/// far.
std::vector<NearLayer> nearest_layers(const MeasuredLayers& measured, const LayerShape& shape);
/// How much a layer counts at such a distance.
double weight_at(const MeasuredLayers& measured, double distance);

/// How a layer is run in each of two ways, drawn from the measured layers nearest to it.
struct MeasuredChange {
  LayerTime from, to;
  bool known = false;  // the layer itself was measured in both
  // The traced layer is run as those of `from`: what it takes over them is its own.
  bool as_traced = true;
};

/// A layer in FP32 and in 16 bits. `traced`: how it is run in the type it comes from; nothing where
/// no measured layer is near, or where the library has no choice.
std::optional<MeasuredChange> type_change(const MeasuredLayers& measured, const LayerShape& shape,
                                          bool to_half, const LayerClass& traced);
/// A layer in 16 bits (or FP32) brought into channels-last order.
std::optional<MeasuredChange> order_change(const MeasuredLayers& measured, const LayerShape& shape,
                                           bool half, const LayerClass& traced);

/// A layer in 16 bits (or FP32) with another number of images; nothing where no layer near it was
/// measured as the traced one is run.
std::optional<MeasuredChange> batch_change(const MeasuredLayers& measured, const LayerShape& shape,
                                           double images, bool half, const LayerClass& traced);

/// What the traced kernels of a pass, `us`, take after the change: what they take over the estimate
/// is carried over, a part of it where the library runs the layer another way, nothing where the
/// traced layer was not run as the measured ones.
double carried_layer_us(const MeasuredLayers& measured, const MeasuredChange& change, double us);

}  // namespace tandem
