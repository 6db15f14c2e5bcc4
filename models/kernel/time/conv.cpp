// Convolution: the fastest of the algorithms that cuDNN has for the shape.
#include "models/kernel/time/parts.h"

namespace tandem {

using time_parts::ceil_div;
using time_parts::describe;
using time_parts::Machine;
using time_parts::math_rate;
using time_parts::MathRate;
using time_parts::matrix_time;
using time_parts::MatrixTime;
using time_parts::MatrixWork;
using time_parts::overlap_4;
using time_parts::round_up;
using time_parts::stream_us;

namespace {

struct ConvSize {
  double images, in, out;  // channels
  double pixels_in, pixels_out;
  double out_h, out_w;
  double taps;
};

ConvSize conv_size(const ConvLayer& s) {
  ConvSize c{};
  c.images = static_cast<double>(s.batch);
  c.in = static_cast<double>(s.in_channels);
  c.out = static_cast<double>(s.out_channels);
  c.taps = static_cast<double>(s.kernel_h) * s.kernel_w;
  c.out_h =
      std::floor((static_cast<double>(s.height) + 2.0 * s.pad_h - s.kernel_h) / s.stride_h) + 1;
  c.out_w =
      std::floor((static_cast<double>(s.width) + 2.0 * s.pad_w - s.kernel_w) / s.stride_w) + 1;
  c.pixels_in = static_cast<double>(s.height) * static_cast<double>(s.width);
  c.pixels_out = c.out_h * c.out_w;
  return c;
}

// The input gradient is a convolution from the output's channels back to the input's.
void swap_channels(ConvSize& c, const ConvLayer& s) {
  std::swap(c.in, c.out);
  std::swap(c.pixels_in, c.pixels_out);
  c.out_h = static_cast<double>(s.height);
  c.out_w = static_cast<double>(s.width);
}

// rows and cols as the library names tiles: tile m along C's columns, here the pixels.
MatrixWork implicit_work(const ConvLayer& s, const ConvSize& c, const MathRate& rate) {
  MatrixWork work;
  work.tensor = rate.tensor;
  work.fma_per_clk = rate.fma_per_clk;
  work.element_bytes = element_bytes(s.type);
  work.rows_k_major = work.cols_k_major = false;
  if (s.pass == Pass::weight_gradient) {
    work.cols = c.in * c.taps;
    work.rows = c.out;
    work.k = c.images * c.pixels_out;
    return work;
  }
  // Strided input gradients touch each pixel with only some of the taps.
  const double strides = s.pass == Pass::input_gradient ? s.stride_h * s.stride_w : 1;
  work.cols = c.images * c.pixels_out;
  work.rows = c.out;
  work.k = c.in * c.taps / strides;
  return work;
}

// cuDNN's winograd kernels: 3x3, and 5x5 through memory; unit stride.
bool winograd_fits(const ConvLayer& s, const MathRate& rate) {
  return !rate.tensor && s.kernel_h == s.kernel_w && (s.kernel_h == 3 || s.kernel_h == 5) &&
         s.stride_h == 1 && s.stride_w == 1;
}
bool fused_fits(const ConvLayer& s) { return s.kernel_h == 3 && s.pass != Pass::weight_gradient; }

constexpr double fused_tile_fma = 16384;  // a block and channel: 16 positions, 32 tiles, 32 filters
constexpr double fused_filters = 32;

// winograd F(2x2): a block is 32 filters by 32 tiles of one image, or of as many as the
// generation's kernels allow.
KernelTime winograd_fused_time(const Machine& m, const ConvSize& c, const MathRate& rate) {
  const double filters = ceil_div(c.out, fused_filters);
  double blocks = c.images * filters * ceil_div(c.out_h, 8) * ceil_div(c.out_w, 16);
  const double images = m.generation.winograd_fused_images;
  if (std::fmod(c.images, images) == 0) {
    blocks = std::min(blocks, c.images / images * filters * ceil_div(c.out_h, 8) *
                                  ceil_div(c.out_w, 16 / images));
  }
  const double cycles =
      ceil_div(blocks, m.sms) * fused_tile_fma / (rate.fma_per_clk * m.generation.winograd_fused);
  const double compute = cycles * (c.in + m.shared.simt_prologue_k) / m.clk;
  const double bytes =
      4 * (c.images * (c.in * c.pixels_in + c.out * c.pixels_out) + 16 * c.in * c.out);
  KernelTime out;
  out.time_us = m.start_us + overlap_4(compute, bytes / m.dram) + m.start_us +
                4 * (c.taps + 16) * c.in * c.out / m.dram * m.shared.transform_filter;
  out.bound = compute * m.dram > bytes ? Bound::compute : Bound::memory;
  out.algorithm = KernelAlgorithm::winograd_fused;
  out.launches = 2;
  out.tile_m = out.tile_n = 128;
  out.grid_x = static_cast<std::int64_t>(blocks);
  out.grid_y = out.grid_z = 1;
  out.waves = blocks / m.sms;
  return out;
}

constexpr double transformed_pixels = 4;   // F(4x4): each way, of an output tile
constexpr double transformed_images = 16;  // padded to a multiple of

// winograd through memory: transforms of both operands, one product for each position of a tile,
// transform of the result. Of a weight gradient the tiles are the inner dimension.
KernelTime winograd_transformed_time(const Machine& m, const ConvSize& c, const ConvLayer& shape,
                                     const MathRate& rate) {
  const double tiles = round_up(c.images, transformed_images) *
                       ceil_div(c.out_h, transformed_pixels) *
                       ceil_div(c.out_w, transformed_pixels);
  const double side = transformed_pixels + shape.kernel_h - 1;
  const bool weights = shape.pass == Pass::weight_gradient;
  MatrixWork work;
  work.fma_per_clk = rate.fma_per_clk;
  work.batch = side * side;
  work.rows = c.out;
  work.cols = weights ? c.in : tiles;
  work.k = weights ? tiles : c.in;
  work.rows_k_major = false;
  const MatrixTime product = matrix_time(m, work, tile_menu(m.gpu, MatrixUse::winograd, false));
  const double filter = 4 * (c.taps + work.batch) * c.in * c.out;
  const double input = 4 * c.in * (c.images * c.pixels_in + work.batch * tiles);
  const double output = 4 * c.out * (c.images * c.pixels_out + work.batch * tiles);
  KernelTime out;
  describe(m, product, out);
  out.algorithm = KernelAlgorithm::winograd_transformed;
  out.launches = 4;
  out.time_us = 4 * m.start_us + product.us + stream_us(m, filter) * m.shared.transform_filter +
                stream_us(m, input) * m.shared.transform_input +
                stream_us(m, output) * m.shared.transform_output;
  return out;
}

KernelTime implicit_time(const Machine& m, const ConvLayer& shape, const ConvSize& c,
                         const MathRate& rate) {
  // Weight gradients have few results and a long k, which must be split.
  const MatrixUse use =
      shape.pass == Pass::weight_gradient ? MatrixUse::linear : MatrixUse::convolution;
  const MatrixTime time =
      matrix_time(m, implicit_work(shape, c, rate), tile_menu(m.gpu, use, rate.tensor));
  KernelTime out;
  describe(m, time, out);
  out.launches = 2;  // the first one computes offsets
  out.time_us = 2 * m.start_us + time.us;
  return out;
}

}  // namespace

void set_strides(ConvLayer& layer, std::int64_t out_height, std::int64_t out_width) {
  const auto set = [](std::int64_t before, std::int64_t after, int taps, int& stride, int& pad) {
    after = std::max<std::int64_t>(after, 1);
    stride = std::max(1, static_cast<int>(std::llround(static_cast<double>(before) /
                                                       static_cast<double>(after))));
    const std::int64_t missing = (after - 1) * stride + taps - before;
    pad = static_cast<int>(std::max<std::int64_t>(0, (missing + 1) / 2));
  };
  set(layer.height, out_height, layer.kernel_h, layer.stride_h, layer.pad_h);
  set(layer.width, out_width, layer.kernel_w, layer.stride_w, layer.pad_w);
}

KernelTime conv_time(const GpuArch& gpu, const ConvLayer& shape, const TimeConstants& constants,
                     const TimeContext& context) {
  const Machine m(gpu, constants, context);
  const MathRate rate = math_rate(gpu, shape.type);
  ConvSize size = conv_size(shape);
  if (shape.pass == Pass::input_gradient) swap_channels(size, shape);
  KernelTime best = implicit_time(m, shape, size, rate);
  const auto consider = [&](const KernelTime& other) {
    if (other.time_us < best.time_us) best = other;
  };
  if (winograd_fits(shape, rate)) {
    consider(winograd_transformed_time(m, size, shape, rate));
    if (fused_fits(shape)) consider(winograd_fused_time(m, size, rate));
  }
  best.confidence = 1 - m.generation.error_conv;
  return best;
}

}  // namespace tandem
