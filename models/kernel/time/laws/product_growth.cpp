#include "models/kernel/time/laws/product_growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernel/time/rates.h"
#include "sim/core/fields/field.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

struct Tile {
  int m, n;
};
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {192, 128}, {128, 192}, {128, 128},
                          {256, 64},  {64, 256},  {128, 64},  {64, 128},  {64, 64},
                          {128, 32},  {32, 128},  {64, 32},   {32, 64},   {32, 32}};
constexpr int splits[] = {1, 2, 4, 8, 16, 32};
constexpr double narrowest_product =
    8;  // of a tensor core instruction; below: a matrix times vectors
constexpr double least_split_k = 128;   // k of one part on tensor cores
constexpr double most_split_waves = 4;  // of blocks, beyond which splitting k only adds traffic
constexpr double edge_steps = 4;        // of k: what begins and ends a tile takes as long

bool on_tensor_cores(const KernelClass& k) { return k.traits.engine > Engine::simt; }
bool is_half(const KernelClass& k) { return tandem::is_half(k.math); }

const TensorRates& rates_of(const ProductGrowth& g, const KernelClass& k, bool convolution) {
  if (!is_half(k)) return g.tf32;
  return convolution ? g.conv_half : g.gemm_half;
}

double cycles_to_us(double cycles, const GpuArch& gpu) { return cycles / gpu.tensor_clock_mhz; }

// Partial results are written and read again.
double split_traffic_us(const GpuArch& gpu, const Product& p, double split) {
  constexpr double written_and_read = 2 * 4;  // bytes, FP32
  return written_and_read * p.batch * p.m * p.n * split / (gpu.l2_read_gbps * 1e3);
}

BestTileTime tensor_time(const GpuArch& gpu, const ProductGrowth& g, const KernelClass& k,
                         const Product& p) {
  const TensorRates& rates = rates_of(g, k, p.convolution);
  const double peak = tensor_fma_per_clk(gpu, is_half(k) ? MathType::fp16 : MathType::tf32);
  const double rate = (peak > 0 ? peak : fp32_fma_per_clk(gpu)) * rates.efficiency;
  const double width = is_half(k) ? 2 : 4;
  BestTileTime best{1e300, {}};
  for (const Tile& tile : tiles) {
    const double area = double(tile.m) * tile.n;
    const double step = std::max(area / rate, (tile.m + tile.n) * width / rates.l2_bytes_per_clk);
    const double blocks = p.batch * std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n);
    for (const int split : splits) {
      if (split > 1 &&
          (p.k / split < least_split_k || blocks * split >= most_split_waves * gpu.sm_count))
        break;
      const double load = blocks * split / gpu.sm_count;
      const double waves = p.convolution ? std::max(1.0, load) : std::ceil(load);
      double us = waves * (cycles_to_us(p.k / split * step, gpu) + g.tile_latency_us);
      if (split > 1) us += g.split_us + split_traffic_us(gpu, p, split);
      if (us < best.us) best = {us, {tile.m, tile.n, split}};
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
BestTileTime simt_time(const GpuArch& gpu, const ProductGrowth& g, const Product& p) {
  const double rate = fp32_fma_per_clk(gpu);
  BestTileTime best{1e300, {}};
  for (const SimtTile& tile : simt_tiles) {
    const double area = double(tile.m) * tile.n;
    const double lone = area / (rate / gpu.smsp_per_sm * std::min(gpu.smsp_per_sm, tile.warps));
    const double tile_cycles =
        (area + g.simt_operand_slots * (tile.m + tile.n)) / (rate * g.simt_share);
    const double blocks = p.batch * std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n);
    for (const int split : splits) {
      if (split > 1 && (p.fused || p.k / split < least_split_k)) break;
      if (split > 1 && blocks * split > most_split_waves * gpu.sm_count) break;
      const double resident = std::ceil(blocks * split / gpu.sm_count);
      const double step = g.simt_step_cycles + std::max(resident * tile_cycles, lone);
      double us = (p.k / split + edge_steps) * step / gpu.boost_clock_mhz;
      if (split > 1) us += g.simt_split_us + split_traffic_us(gpu, p, split);
      if (us < best.us) best = {us, {tile.m, tile.n, split}};
    }
  }
  return best;
}

std::vector<Field<TensorRates>> rates_fields(const std::string& name) {
  using R = TensorRates;
  return {
      field(name + "_efficiency", "ratio", "multiply rate of a full tile / peak", &R::efficiency),
      field(name + "_l2_bytes_per_clk", "B/clk/SM", "operand bytes that reach an SM",
            &R::l2_bytes_per_clk)};
}

}  // namespace

std::vector<Field<ProductGrowth>> product_growth_fields() {
  using G = ProductGrowth;
  std::vector<Field<G>> fields;
  add_fields(fields, &G::gemm_half, rates_fields("gemm_half"));
  add_fields(fields, &G::conv_half, rates_fields("conv_half"));
  add_fields(fields, &G::tf32, rates_fields("tf32"));
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view doc,
                       double G::*member) { fields.push_back(field(name, unit, doc, member)); };
  add("tensor_floor_us", "us", "launch floor, tensor cores", &G::tensor_floor_us);
  add("tile_latency_us", "us", "start and end of a wave of tiles", &G::tile_latency_us);
  add("split_us", "us", "one more kernel or a wait for partial results", &G::split_us);
  add("simt_floor_us", "us", "launch floor, FP32 pipes; also of matrix kernels without a model",
      &G::simt_floor_us);
  add("simt_share", "ratio", "sustained / peak FP32 rate", &G::simt_share);
  add("simt_operand_slots", "count", "multiply slots that loading one operand element costs",
      &G::simt_operand_slots);
  add("simt_step_cycles", "cycle", "latency of one k step of a lone tile", &G::simt_step_cycles);
  add("simt_split_us", "us", "cost of splitting k, FP32 pipes", &G::simt_split_us);
  return fields;
}

double ProductGrowth::floor_us(const KernelClass& kernel) const {
  return on_tensor_cores(kernel) ? tensor_floor_us : simt_floor_us;
}

std::string describe(const TileChoice& choice) {
  std::string out =
      "products in tiles of " + std::to_string(choice.m) + "x" + std::to_string(choice.n);
  if (choice.split > 1) out += ", k in " + std::to_string(choice.split) + " parts";
  return out;
}

BestTileTime best_tile_time(const GpuArch& gpu, const ProductGrowth& growth, double dram_share,
                            const KernelClass& kernel, const Product& p) {
  const double memory_us = dram_us(gpu, p.bytes, dram_share);
  if (!p.convolution && std::min(p.m, p.n) < narrowest_product) return {memory_us, 0};
  BestTileTime time =
      on_tensor_cores(kernel) ? tensor_time(gpu, growth, kernel, p) : simt_time(gpu, growth, p);
  time.us = std::max(time.us, memory_us);
  return time;
}

namespace {

double member_tiles(const KernelTraits& t, const Product& p) {
  return std::ceil(p.m / t.tile_m) * std::ceil(p.n / t.tile_n);
}

}  // namespace

// Where every block has an SM of its own, a block takes as long as the kernel, and no SM gets more
// than its share of the blocks, rounded up.
double kept_kernel_growth(const GpuArch& gpu, const KernelTraits& t, const LaunchGeometry& geometry,
                          const Product& base, const Product& next) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (t.tile_m == 0 || t.tile_n == 0) return unknown;
  const auto tiles = [&](const Product& p) { return p.batch * member_tiles(t, p); };
  const auto& g = geometry.grid;
  const double blocks = std::max(tiles(base), double(g[0]) * g[1] * g[2]);
  if (blocks > gpu.sm_count) return unknown;
  const double rounds = std::ceil(blocks * tiles(next) / tiles(base) / gpu.sm_count);
  return rounds * std::max(1.0, next.k / base.k);
}

bool runs_one_member(const KernelTraits& t, const LaunchGeometry& geometry,
                     const Product& product) {
  if (t.tile_m == 0 || t.tile_n == 0 || product.batch <= 1) return false;
  const auto& g = geometry.grid;
  return double(g[0]) * g[1] * g[2] == member_tiles(t, product);
}

double member_growth(const GpuArch& gpu, const KernelTraits& t, const Product& base,
                     const Product& next) {
  const auto rounds = [&](const Product& p) {
    return std::ceil(member_tiles(t, p) / gpu.sm_count) * p.k;
  };
  return rounds(next) / rounds(base);
}

std::optional<double> lone_blocks_growth(const GpuArch& gpu, const KernelTraits& t,
                                         const LaunchGeometry& geometry, const Product& base,
                                         const Product& next) {
  if (t.kind != Kind::convolve_sgemm || t.tile_m > 0 || next.k != base.k) return {};
  const double blocks = double(geometry.grid[0]) * geometry.grid[1] * geometry.grid[2];
  if (blocks > gpu.sm_count) return {};
  return std::ceil(std::max(1.0, blocks * next.m / base.m) / gpu.sm_count);
}

}  // namespace tandem
