// The kernels of one pass of a layer as cuDNN runs it: products on images in the framework's order,
// implicit products in channels-last order between transforms on tensor cores, kernels of their own
// for FP32 pipes and for depthwise layers.
#include "workloads/lower/layers/passes.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/kernel/choice/depthwise_rule.h"
#include "models/kernel/choice/layer_rule.h"
#include "models/kernel/time/rates.h"
#include "sim/core/tensors/data_type.h"
#include "workloads/lower/matrix.h"

namespace tandem::lowering {
namespace {

// Kernels of the rule, by position.
enum Part : std::size_t {
  to_channels_last,
  to_channels_first,
  set_up,
  split_sum,
  image_sum,  // of the weight gradients of single images
  offsets,
  depthwise_input_gradient,
  depthwise_weight_gradient,
  depthwise_input_gradient_nhwc,
  depthwise_weight_gradient_nhwc,
};

void add_transform(const Context& c, const TensorShape& t, Part part, Kernels& out) {
  if (t.channels_last && pixels(t) > 1) return;
  const auto [x, y, z] = transform_grid(t);
  out.push_back(make(c, c.kernel(part), t.type, {x, y, z}, 2 * bytes_of(t)));
}

void add_weight_transform(const Context& c, const Layer& l, Part part, Kernels& out) {
  if (l.taps > 1) add_transform(c, l.weight, part, out);
}

/// What the library's choice takes where the law gives `law_us`.
double chosen_us(const Context& c, double law_us, ConvUse use, Pass pass, DataType type) {
  const ConvHabit habit = c.input.rules.habit(use, pass, type, c.gpu().compute_major);
  const double floor = c.gpu().graph_kernel_period_us;
  return floor + habit.start_us + std::max(0.0, law_us - floor) / habit.share;
}

ConvUse use_of(const Layer& l) {
  if (l.conv.stride_h * l.conv.stride_w == 1) return ConvUse::implicit;
  return l.taps == 1 ? ConvUse::sampled : ConvUse::strided;
}

/// A layer as one product per image, in the framework's order; in channels-last order all pixels of
/// all images are rows of one.
void add_plain(const Context& c, const Layer& l, DataType type, Pass pass, Kernels& out) {
  GemmShape shape;
  shape.type = type;
  shape.batch = l.conv.batch;
  shape.m = l.conv.out_channels;
  shape.n = pixels(l.output);
  shape.k = l.conv.in_channels;
  if (pass == Pass::input_gradient) {
    std::swap(shape.m, shape.k);
    shape.a_k_major = false;
  }
  if (pass == Pass::weight_gradient) {
    shape.n = l.conv.in_channels;
    shape.k = pixels(l.output);
    shape.b_k_major = true;
  }
  if (l.channels_last) {
    (pass == Pass::weight_gradient ? shape.k : shape.n) *= shape.batch;
    shape.batch = 1;
    shape.b_k_major = pass != Pass::weight_gradient;
  }
  KernelTime time = gemm_time(c.gpu(), shape, c.input.time);
  // A single image is a product like any other; several are a batch, for which the choice is
  // poorer.
  if (shape.batch > 1) time.time_us = chosen_us(c, time.time_us, ConvUse::plain, pass, type);
  out.push_back(matrix_kernel(c, time, KernelFamily::gemm, type, pass));
  if (pass == Pass::weight_gradient && shape.batch > 1) {
    const double weights = bytes_of(l.weight);
    out.push_back(
        make(c, c.kernel(image_sum), type, {ceil_div(l.weight.elements(), 128)},
             weights * (static_cast<double>(std::min<std::int64_t>(shape.batch, 16)) + 1)));
  }
}

/// Groups as one layer: blocks take as many of them as fill a tile, and multiply zeros between.
ConvLayer merged(const Layer& l, ConvLayer conv, Pass pass) {
  const std::int64_t tile_channels = pass == Pass::forward ? 32 : 64;
  if (l.groups == 1) return conv;
  const auto together = [&](std::int64_t channels) {
    return channels * std::min(l.groups, ceil_div(tile_channels, channels));
  };
  const bool input_gradient = pass == Pass::input_gradient;
  conv.out_channels = input_gradient ? together(conv.out_channels) : l.output.dims[1];
  conv.in_channels = input_gradient ? l.input.dims[1] : together(conv.in_channels);
  return conv;
}

}  // namespace

void add_main(const Context& c, const Layer& l, DataType type, Pass pass, Kernels& out) {
  ConvLayer conv = l.conv;
  conv.type = type;
  conv.pass = pass;
  const double floor = c.gpu().graph_kernel_period_us;
  const KernelTime law = conv_time(c.gpu(), merged(l, conv, pass), c.input.time);
  KernelTime time = law;
  if (type == DataType::fp32 && time.launches > 1 && c.gpu().tensor_tf32_fma_per_clk <= 0) {
    LoweredKernel helper = make(c, c.kernel(offsets), type, {1}, 4096);
    time.time_us -= std::min(helper.duration_us, time.time_us / 2);
    out.push_back(std::move(helper));
  } else {
    time.time_us -= std::min(floor, time.time_us / 2);
  }
  time.time_us = chosen_us(c, time.time_us, use_of(l), pass, type);
  LoweredKernel main = matrix_kernel(c, time, KernelFamily::convolution, type, pass);
  if (time.split > 1 && pass == Pass::weight_gradient) {
    const KernelTemplate& row = c.kernel(split_sum);
    LoweredKernel sum =
        make(c, row, type, {ceil_div(l.weight.elements(), 2048)},
             static_cast<double>(l.weight.elements()) * element_bytes(DataType::fp32) * time.split +
                 bytes_of(l.weight));
    main.duration_us = std::max(main.duration_us - sum.duration_us, main.duration_us / 2);
    out.push_back(std::move(main));
    out.push_back(std::move(sum));
    return;
  }
  out.push_back(std::move(main));
}

namespace {

/// Weight gradients on FP32 pipes as a product for each image sum over its pixels in one block
/// where a side of the result is short. The library then spreads the pixels of all images over the
/// GPU.
void add_plain_or_spread(const Context& c, const Layer& l, DataType type, Pass pass, Kernels& out) {
  constexpr std::int64_t short_side = 8;  // of a tile of 32 or more, most is empty
  const bool narrow = std::min(l.conv.in_channels, l.conv.out_channels) < short_side;
  Kernels plain, spread;
  add_plain(c, l, type, pass, plain);
  if (pass == Pass::weight_gradient && type == DataType::fp32 && narrow) {
    add_main(c, l, type, pass, spread);
  }
  const bool pays = !spread.empty() && total_us(spread) < total_us(plain);
  for (LoweredKernel& k : pays ? spread : plain) out.push_back(std::move(k));
}

/// Long windows over time in groups, as encoders of sound have for positions: the library runs each
/// group by itself.
bool runs_apart(const Layer& l, Pass pass, DataType type) {
  // Groups of windows of up to so many taps were seen to share a launch.
  constexpr std::int64_t longest_shared = 32;
  return l.groups > 1 && !is_depthwise(l) && l.taps > longest_shared && type != DataType::fp32 &&
         pass != Pass::weight_gradient;
}

/// Kernels of single groups are short of blocks: one step follows the other along the sum.
void add_apart(const Context& c, const Layer& l, DataType type, Pass pass, Kernels& out) {
  constexpr std::int64_t tile_channels = 32, tile_pixels = 128;
  const bool forward = pass == Pass::forward, half = is_half(type);
  // Halves of a tile are left to FP32 pipes, in three parts.
  const bool lanes = forward && half && l.conv.in_channels % tile_channels != 0;
  const std::string_view key = lanes     ? "group_lanes"
                               : forward ? (half ? "group_forward_half" : "group_forward_tf32")
                                         : (half ? "group_gradient_half" : "group_gradient_tf32");
  const KernelTemplate& row = c.input.rules.kernel(key, c.gpu().compute_major);
  const TensorShape& walked = forward ? l.output : l.input;
  const double places =
      double(pixels(l.output)) / double(std::max<std::int64_t>(1, pixels(walked)));
  const double depth =
      double(forward ? l.conv.in_channels : l.conv.out_channels) * double(l.taps) * places;
  const std::int64_t blocks = ceil_div(l.conv.batch * pixels(walked), tile_pixels);
  const double rounds = std::ceil(double(blocks) / c.gpu().sm_count);
  LoweredKernel kernel = make(c, row, type, {blocks});
  const double cycles = rounds * std::ceil(depth / row.per_block) * row.block_cycles;
  kernel.duration_us = c.gpu().graph_kernel_period_us + cycles / c.gpu().boost_clock_mhz;
  if (!lanes) add_transform(c, forward ? l.input : l.output, to_channels_last, out);
  out.insert(out.end(), static_cast<std::size_t>(l.groups * (lanes ? 3 : 1)), kernel);
  if (!lanes) add_transform(c, walked, to_channels_first, out);
}

/// What a layer that is run in such a way is multiplied in.
DataType math_of(const Context& c, const Layer& l, const LayerClass& run) {
  const DataType by_rule = math_of(c, l);
  if (run.path == LayerPath::lanes) return DataType::fp32;
  const bool turns = run.path == LayerPath::implicit && c.gpu().tensor_tf32_fma_per_clk > 0;
  return by_rule == DataType::fp32 && turns ? DataType::tf32 : by_rule;
}

}  // namespace

bool is_depthwise(const Layer& l) { return l.groups > 1 && l.conv.in_channels == 1; }

void add_pass(const Context& c, const Layer& l, Pass pass, const LayerClass& run, Kernels& out) {
  const DataType type = math_of(c, l, run);
  if (runs_apart(l, pass, type)) {
    add_apart(c, l, type, pass, out);
    return;
  }
  if (run.path == LayerPath::product) {
    if (l.channels_last && pass != Pass::input_gradient) {
      add_transform(c, l.input, to_channels_last, out);
    }
    if (l.channels_last && pass != Pass::forward) {
      add_transform(c, l.output, to_channels_last, out);
    }
    add_plain_or_spread(c, l, type, pass, out);
    return;
  }
  if (run.path == LayerPath::lanes || type == DataType::fp32) {
    add_main(c, l, type, pass, out);
    return;
  }
  switch (pass) {
    case Pass::forward:
      add_transform(c, l.input, to_channels_last, out);
      add_weight_transform(c, l, to_channels_last, out);
      add_main(c, l, type, pass, out);
      add_transform(c, l.output, to_channels_first, out);
      break;
    case Pass::input_gradient:
      add_weight_transform(c, l, to_channels_last, out);
      add_transform(c, l.output, to_channels_last, out);
      add_main(c, l, type, pass, out);
      add_transform(c, l.input, to_channels_first, out);
      break;
    case Pass::weight_gradient:
      add_transform(c, l.input, to_channels_last, out);
      add_transform(c, l.output, to_channels_last, out);
      out.push_back(make(c, c.kernel(set_up), type, {1}, 1));
      add_main(c, l, type, pass, out);
      add_weight_transform(c, l, to_channels_first, out);
      break;
  }
}

namespace {

/// A thread walks over the window of each element of `walked`.
LoweredKernel depthwise_kernel(const Context& c, const Layer& l, const KernelTemplate& row,
                               const TensorShape& walked, double slowdown) {
  constexpr double measured_taps = 9;  // those that block_cycles stands for
  const double blocks = std::ceil(static_cast<double>(walked.elements()) / row.per_block);
  const double bytes = bytes_of(l.input) + bytes_of(l.output);
  LoweredKernel kernel = make(c, row, l.input.type, {static_cast<std::int64_t>(blocks)}, bytes);
  const double wide = l.input.type == DataType::fp32 ? row.fp32_ratio : 1;
  const double cycles =
      blocks * row.block_cycles * wide * static_cast<double>(l.taps) / measured_taps * slowdown;
  kernel.duration_us = std::max(stream_time_us(c, bytes),
                                c.gpu().graph_kernel_period_us + all_sms_us(c.gpu(), cycles));
  return kernel;
}

/// Whether the library has no kernel of its own for the weight gradient with channels last: in FP32
/// of large windows, and of channels that its loads do not hold whole.
bool lacks_own_kernel(const Layer& l) {
  constexpr int large_window = 7;
  return l.input.type == DataType::fp32 &&
         (l.conv.kernel_h >= large_window ||
          !loads_hold_channels(static_cast<double>(l.output.dims[1])));
}

Part depthwise_part(const Layer& l, Pass pass) {
  if (pass == Pass::weight_gradient) {
    return l.channels_last ? depthwise_weight_gradient_nhwc : depthwise_weight_gradient;
  }
  return l.channels_last ? depthwise_input_gradient_nhwc : depthwise_input_gradient;
}

}  // namespace

void add_depthwise_forward(const Context& c, const Layer& l, Pass, const LayerClass&,
                           Kernels& out) {
  out.push_back(depthwise_kernel(c, l, c.kernel_in_order(0), l.output, 1));
}

void add_depthwise(const Context& c, const Layer& l, Pass pass, const LayerClass&, Kernels& out) {
  constexpr double lost_pixels = 75;  // of each image, in the weight gradient
  const bool weights = pass == Pass::weight_gradient;
  const Part part = depthwise_part(l, pass);
  const double slowdown = weights ? 1 + lost_pixels / static_cast<double>(pixels(l.output)) : 1;
  const KernelTemplate& row =
      part == depthwise_weight_gradient_nhwc && lacks_own_kernel(l)
          ? c.input.rules.kernel("depthwise_weight_gradient_nhwc_general", c.gpu().compute_major)
          : c.kernel(part);
  LoweredKernel kernel = depthwise_kernel(c, l, row, weights ? l.output : l.input, slowdown);
  if (part == depthwise_weight_gradient) {
    kernel.geometry.grid[0] = static_cast<std::uint32_t>(l.weight.elements());
  }
  if (part == depthwise_weight_gradient_nhwc) {  // a lane a channel, four rows of one image
    const LaunchGeometry& g = kernel.geometry;
    kernel.geometry = {{static_cast<std::uint32_t>(ceil_div(l.output.dims[1], lanes_per_warp)),
                        static_cast<std::uint32_t>(l.output.dims[0]), 1},
                       {lanes_per_warp, 4, 1},
                       g.registers_per_thread,
                       g.shared_bytes};
  }
  out.push_back(std::move(kernel));
}

}  // namespace tandem::lowering
