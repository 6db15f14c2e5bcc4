// How well steps without a trace foretell measured layers, each left out at all batches, by how
// much the law counts beside the others (`law_distance`). usage: layers_left_out [LAYERS], 700 of
// them unless told.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "sim/predict/configs.h"
#include "workloads/lower/lower.h"

namespace {

using namespace tandem;

constexpr std::array distances{0.5, 2.0, 4.0, 6.0, 9.0, 14.0, 20.0, 40.0};

/// Sums of abs(log(foretold / measured)): by the law alone, then for each of `distances`.
struct Errors {
  int layers = 0;
  std::array<double, distances.size() + 1> sums{};
};

std::int64_t whole(double n) { return std::llround(n); }

TensorShape tensor(DataType type, std::vector<std::int64_t> dims) {
  TensorShape out;
  out.type = type;
  out.rank = static_cast<std::uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims.begin());
  std::int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) out.strides[d] = stride;
  return out;
}

/// The operation that runs a pass of a layer, with its operands.
struct LayerCall {
  NetworkOp op;
  BoundOp bound;
};

LayerCall call_of(const LayerShape& s, DataType type) {
  const std::int64_t side = whole(s.line ? s.pixels : std::sqrt(s.pixels));
  const std::int64_t taps = whole(s.line ? s.side * s.side : s.side);
  const std::int64_t step = whole(s.line ? s.stride * s.stride : s.stride);
  const std::int64_t reach = whole(s.dilation) * (taps - 1);
  const std::int64_t around = step == taps ? 0 : reach / 2;
  const std::int64_t out = (side + 2 * around - reach - 1) / step + 1;
  const std::size_t dimensions = s.line ? 1 : 2;
  const auto image = [&](double channels, std::int64_t size) {
    std::vector<std::int64_t> dims{whole(s.images), whole(channels)};
    dims.insert(dims.end(), dimensions, size);
    return tensor(type, dims);
  };
  std::vector<std::int64_t> filters{whole(s.out_channels), whole(s.in_channels / s.groups)};
  filters.insert(filters.end(), dimensions, taps);
  const TensorShape input = image(s.in_channels, side), result = image(s.out_channels, out);
  const TensorShape weight = tensor(type, filters);
  const auto all = [&](std::int64_t n) { return std::vector<std::int64_t>(dimensions, n); };
  const bool back = s.pass != Pass::forward;
  LayerCall call;
  call.op.name = back                                        ? "aten::convolution_backward"
                 : is_depthwise(s) && type == DataType::fp32 ? "aten::_conv_depthwise2d"
                                                             : "aten::cudnn_convolution";
  call.op.phase = back ? Phase::backward : Phase::forward;
  const std::vector<TensorShape> operands =
      back ? std::vector{result, input, weight} : std::vector{input, weight};
  Operands& o = call.bound.operands;
  for (std::size_t i = 0; i < operands.size(); ++i) o.tensors.add(i, operands[i]);
  o.arguments.resize(operands.size());
  const std::vector<std::int64_t> none;
  const Argument groups = whole(s.groups);
  const std::vector<Argument> further =
      back ? std::vector<Argument>{none,  all(step), all(around), all(whole(s.dilation)),
                                   false, none,      groups}
           : std::vector<Argument>{all(around), all(step), all(whole(s.dilation)), groups};
  o.arguments.insert(o.arguments.end(), further.begin(), further.end());
  o.has_shapes = true;
  call.bound.outputs = {!back ? result : s.pass == Pass::input_gradient ? input : weight};
  return call;
}

double us_of(const LoweringInput& input, const LayerCall& call) {
  LossList losses;
  Lowering lowering(input);
  double us = 0;
  for (const LoweredKernel& k : lowering.kernels(call.op, call.bound, losses)) us += k.duration_us;
  return us;
}

MeasuredLayers without(const MeasuredLayers& all, const LayerShape& shape) {
  std::vector<MeasuredLayer> kept;
  for (const MeasuredLayer& l : all.layers.like(shape)) {
    if (!same_layer(l.shape, shape)) kept.push_back(l);
  }
  MeasuredLayers out = all;
  out.layers = LayerTable(std::move(kept));
  return out;
}

std::string kind_of(const LayerShape& s) {
  constexpr double colours = 4;
  const std::string over = s.line ? " over time" : "";
  if (is_depthwise(s)) return "depthwise" + over;
  if (s.groups > 1) return "groups" + over;
  if (s.in_channels <= colours) return "first" + over;
  return (s.side == 1 ? "1 x 1" : "windows") + over;
}

int run(std::size_t wanted) {
  const Configs configs = load_configs("configs", "default");
  const LoweringRules rules = load_lowering_rules("configs/kernels/lowering.json");
  const MeasuredLayers& all = configs.layers;
  const GpuArch& gpu = find_gpu(configs.gpus, all.gpu);
  std::vector<MeasuredLayer> layers;
  for (const MeasuredLayer& l : all.layers.all()) {
    if (!l.shape.channels_last && l.shape.aspect == 1) layers.push_back(l);
  }
  std::shuffle(layers.begin(), layers.end(), std::mt19937(3));
  layers.resize(std::min(wanted, layers.size()));
  std::map<std::string, Errors> errors;
  for (const MeasuredLayer& layer : layers) {
    MeasuredLayers others = without(all, layer.shape);
    const MeasuredOn measured{others, gpu};
    for (const DataType type : {DataType::fp32, DataType::fp16}) {
      const double us = type == DataType::fp32 ? layer.full.us : layer.half.us;
      const LayerCall call = call_of(layer.shape, type);
      LoweringInput input{gpu, configs.time, configs.libraries, rules, configs.batch.sums};
      std::array<double, distances.size() + 1> foretold{us_of(input, call)};
      input.measured = &measured;
      for (std::size_t d = 0; d < distances.size(); ++d) {
        others.law_distance = distances[d];
        foretold[d + 1] = us_of(input, call);
      }
      for (const std::string& kind : {kind_of(layer.shape), std::string("all")}) {
        Errors& e = errors[kind];
        ++e.layers;
        for (std::size_t i = 0; i < foretold.size(); ++i) {
          e.sums[i] += std::abs(std::log(std::max(foretold[i], 1e-3) / us));
        }
      }
    }
  }
  fmt::print("kind, layers, law alone");
  for (const double d : distances) fmt::print(", {}", d);
  for (const auto& [kind, e] : errors) {
    fmt::print("\n{}, {}", kind, e.layers);
    for (const double sum : e.sums) fmt::print(", {:.3f}", sum / e.layers);
  }
  fmt::print("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t usual = 700;
  try {
    return run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : usual);
  } catch (const std::exception& error) {
    fmt::print(stderr, "layers_left_out: {}\n", error.what());
    return 2;
  }
}
