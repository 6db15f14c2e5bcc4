#include "models/whatif/batch/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/kernel/work/gemm_shape.h"

namespace tandem {
namespace {

struct Tile {
  int m, n;
};
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {192, 128}, {128, 192}, {128, 128},
                          {256, 64},  {64, 256},  {128, 64},  {64, 128},  {64, 64},
                          {128, 32},  {32, 128},  {64, 32},   {32, 64},   {32, 32}};
constexpr int splits[] = {1, 2, 4, 8, 16, 32};
constexpr double narrowest_product = 8;  // below: a matrix times a few vectors, bound by memory
constexpr double least_split_k = 128;    // k of one part on tensor cores

bool on_tensor_cores(const KernelClass& k) { return k.traits.engine > Engine::simt; }
bool is_half(const KernelClass& k) { return k.math == DataType::fp16 || k.math == DataType::bf16; }

const TensorRates& rates_of(const BatchLaw& law, const KernelClass& k, bool convolution) {
  if (!is_half(k)) return law.tf32;
  return convolution ? law.conv_half : law.gemm_half;
}

double cycles_to_us(double cycles, const GpuArch& gpu) { return cycles / gpu.tensor_clock_mhz; }
double bytes_to_us(double bytes, double gbps) { return bytes / (gbps * 1e3); }

// Partial results are written and read again.
double split_traffic_us(const BatchChange& c, const Product& p, double split) {
  return bytes_to_us(8 * p.batch * p.m * p.n * split, c.gpu.l2_read_gbps);
}

ProductTime tensor_time(const BatchChange& c, const KernelClass& k, const Product& p) {
  const TensorRates& rates = rates_of(c.law, k, p.convolution);
  const double peak = tensor_fma_per_clk(c.gpu, is_half(k) ? MathType::fp16 : MathType::tf32);
  const double rate = (peak > 0 ? peak : 128.0) * rates.efficiency;
  const double width = is_half(k) ? 2 : 4;
  ProductTime best{1e300, 0};
  for (const Tile& tile : tiles) {
    const double area = double(tile.m) * tile.n;
    const double step = std::max(area / rate, (tile.m + tile.n) * width / rates.l2_bytes_per_clk);
    const double blocks = p.batch * std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n);
    for (const int split : splits) {
      if (split > 1 && (p.k / split < least_split_k || blocks * split >= 4 * c.gpu.sm_count)) break;
      const double load = blocks * split / c.gpu.sm_count;
      const double waves = p.convolution ? std::max(1.0, load) : std::ceil(load);
      double us = waves * (cycles_to_us(p.k / split * step, c.gpu) + c.law.tile_latency_us);
      if (split > 1) us += c.law.split_us + split_traffic_us(c, p, split);
      if (us < best.body_us)
        best = {us, static_cast<std::uint32_t>(tile.m << 16 | tile.n << 6 | split)};
    }
  }
  return best;
}

struct SimtTile {
  int m, n, warps;
};
constexpr SimtTile simt_tiles[] = {{128, 128, 8}, {128, 64, 4}, {64, 128, 4},
                                   {128, 32, 2},  {32, 128, 2}, {64, 64, 2},
                                   {64, 32, 2},   {32, 64, 2},  {32, 32, 2}};

// FP32 pipes: an SM works through its tiles at the sustained rate, but no faster than the chain of
// k steps of one tile allows.
ProductTime simt_time(const BatchChange& c, const Product& p) {
  const GpuArch& gpu = c.gpu;
  const double rate = double(gpu.fp32_lanes) * gpu.smsp_per_sm;
  ProductTime best{1e300, 0};
  for (const SimtTile& tile : simt_tiles) {
    const double area = double(tile.m) * tile.n;
    const double lone = area / (rate / 4 * std::min(4, tile.warps));
    const double tile_cycles =
        (area + c.law.simt_operand_slots * (tile.m + tile.n)) / (rate * c.law.simt_share);
    const double blocks = p.batch * std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n);
    for (const int split : splits) {
      if (split > 1 && (p.fused || p.k / split < least_split_k)) break;
      if (split > 1 && blocks * split > 4 * gpu.sm_count) break;
      const double resident = std::ceil(blocks * split / gpu.sm_count);
      const double step = c.law.simt_step_cycles + std::max(resident * tile_cycles, lone);
      double us = (p.k / split + 4) * step / gpu.boost_clock_mhz;
      if (split > 1) us += c.law.simt_split_us + split_traffic_us(c, p, split);
      if (us < best.body_us)
        best = {us, static_cast<std::uint32_t>(tile.m << 16 | tile.n << 6 | split)};
    }
  }
  return best;
}

Product conv_product(const KernelClass& k, const ConvShape& c) {
  const auto images = static_cast<double>(c.images);
  const double in = static_cast<double>(c.in_channels) / static_cast<double>(c.groups);
  const double out = static_cast<double>(c.out_channels) / static_cast<double>(c.groups);
  const auto in_pixels = static_cast<double>(c.in_pixels);
  const auto out_pixels = static_cast<double>(c.out_pixels), taps = static_cast<double>(c.taps);
  Product p;
  p.convolution = true;
  p.batch = static_cast<double>(c.groups);
  switch (k.traits.pass) {
    case Pass::forward: p.m = images * out_pixels, p.n = out, p.k = in * taps; break;
    case Pass::input_gradient:
      p.m = images * in_pixels, p.n = in, p.k = out * taps * out_pixels / in_pixels;
      break;
    case Pass::weight_gradient: p.m = out, p.n = in * taps, p.k = images * out_pixels; break;
  }
  const double elements = images * (in * in_pixels + out * out_pixels) + in * out * taps;
  p.bytes = elements * p.batch * std::max(element_bytes(k.traits.data), 1);
  return p;
}

// Products of a recurrent layer: the grid of the traced kernel tells which one it is. The gradients
// of the weights sum over the sequences. What needs the state of the step before takes one step per
// launch, and its columns are the sequences. What does not (the inputs of the layer) takes as many
// steps as fill a certain number of columns: not the columns but the launches follow the batch.
std::optional<Product> recurrent_product(const BatchKernel& k, const OpTensors& tensors) {
  const TensorShape *traced = k.op->tensors.at(0), *now = tensors.at(0);
  if (traced == nullptr || now == nullptr || traced->rank != 3 || k.op->axis[0] < 0) return {};
  const OpContext context{k.op->name, k.op->tensors, k.op->arguments, k.geometry};
  const MatrixProblem m = matrix_problem(k.kernel, context);
  if (m.batch <= 0 || m.m <= 0 || m.n <= 0 || m.k <= 0) return {};
  const auto axis = static_cast<std::size_t>(k.op->axis[0]);
  const double factor =
      static_cast<double>(now->dims[axis]) / static_cast<double>(traced->dims[axis]);
  const double all = static_cast<double>(now->dims[0]) * static_cast<double>(now->dims[1]);
  Product p;
  p.m = static_cast<double>(m.m), p.n = static_cast<double>(m.n), p.k = static_cast<double>(m.k);
  if (is_recurrent_weight_gradient(k.kernel, k.op->name)) {
    p.k *= factor;
  } else if (m.steps > 1) {
    p.n = std::min(p.n, all);
    p.launches = all / p.n;
  } else {
    p.n *= factor;
  }
  p.bytes = (p.m * p.n + p.m * p.k + p.n * p.k) * std::max(element_bytes(k.kernel.traits.data), 1);
  return p;
}

}  // namespace

std::optional<Product> product_of(const BatchKernel& kernel, const OpTensors& tensors) {
  const OpContext context{kernel.op->name, tensors, kernel.op->arguments, kernel.geometry};
  if (const auto conv = conv_shape(context)) {
    if (conv->images <= 0 || conv->in_pixels <= 0) return std::nullopt;
    return conv_product(kernel.kernel, *conv);
  }
  if (kernel.op->row->kind == OpKind::recurrent) return recurrent_product(kernel, tensors);
  const MatrixProblem m = matrix_problem(kernel.kernel, context);
  if (m.batch <= 0 || m.m <= 0 || m.n <= 0 || m.k <= 0) return std::nullopt;
  Product p;
  p.batch = static_cast<double>(m.batch);
  p.m = static_cast<double>(m.m), p.n = static_cast<double>(m.n), p.k = static_cast<double>(m.k);
  p.bytes = m.a_bytes + m.b_bytes + m.c_bytes;
  p.fused = is_product_with_bias(*kernel.op->row);
  return p;
}

ProductTime product_time(const BatchChange& c, const KernelClass& kernel, const Product& p) {
  const double memory_us = bytes_to_us(p.bytes, c.law.dram_share * c.gpu.dram_peak_gbps);
  if (!p.convolution && std::min(p.m, p.n) <= narrowest_product) return {memory_us, 0};
  ProductTime time = on_tensor_cores(kernel) ? tensor_time(c, kernel, p) : simt_time(c, p);
  time.body_us = std::max(time.body_us, memory_us);
  return time;
}

// Where every block has an SM of its own, a block takes as long as the kernel, and no SM gets more
// than its share of the blocks, rounded up.
double kept_kernel_growth(const BatchChange& c, const BatchKernel& k, const Product& base,
                          const Product& next) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const KernelTraits& t = k.kernel.traits;
  if (t.tile_m == 0 || t.tile_n == 0) return unknown;
  const auto tiles = [&](const Product& p) {
    return p.batch * std::ceil(p.m / t.tile_m) * std::ceil(p.n / t.tile_n);
  };
  const auto& g = k.geometry.grid;
  const double blocks = std::max(tiles(base), double(g[0]) * g[1] * g[2]);
  if (blocks > c.gpu.sm_count) return unknown;
  const double rounds = std::ceil(blocks * tiles(next) / tiles(base) / c.gpu.sm_count);
  return rounds * std::max(1.0, next.k / base.k);
}

double product_floor_us(const BatchLaw& law, const KernelClass& kernel) {
  return on_tensor_cores(kernel) ? law.tensor_floor_us : law.simt_floor_us;
}

}  // namespace tandem
