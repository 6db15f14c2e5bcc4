#include "models/kernel/time/parts.h"
#include "sim/core/units.h"

namespace tandem {
namespace time_parts {
namespace {

constexpr double piece_bytes = sector_bytes;  // of a row that one k step of a SIMT kernel reads
constexpr double simt_k_step = 8;             // of one slice
constexpr double tensor_k_step = 32;
constexpr double shortest_split = 64;
constexpr int splits[] = {2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 27, 40, 64, 80, 108};

struct Grid {
  double x, y, blocks;
};

// The power controller takes a while to lower the clock.
double throttled(const Machine& m, const MatrixWork& work, double us) {
  const double load_us = us * m.context.repeats;
  const double loss = 1 - (work.tensor ? m.tensor_clock : m.simt_clock);
  return us / (1 - loss * load_us / (load_us + m.shared.power_response_us));
}

// A block's cycles for one k: its FMA at the rate the tile reaches, or its operands from L2.
double cycles_per_k(const Machine& m, const MatrixWork& work, const MatrixTile& tile) {
  const double area = static_cast<double>(tile.m) * tile.n;
  if (!work.tensor) return area / (work.fma_per_clk * (m.generation.*tile.efficiency));
  const double narrow = std::min(tile.m, tile.n);
  const double wide = std::max(tile.m, tile.n);
  const double operands = (narrow + wide / tile.sharers) * work.element_bytes;
  return std::max(area / (work.fma_per_clk * m.generation.tensor_rate),
                  operands / m.generation.tensor_operand_bytes_per_clk) /
         (work.aligned ? 1 : m.generation.tensor_misaligned);
}

// The same for a block alone on its SM: few warps reach few pipes and expose latencies.
double lone_cycles_per_k(const Machine& m, const MatrixWork& work, const MatrixTile& tile) {
  const double warps = tile.threads / 32.0;
  const double busy = std::min(1.0, warps / m.gpu.smsp_per_sm);
  const double compute = static_cast<double>(tile.m) * tile.n / (work.fma_per_clk * busy);
  if (work.tensor) return compute;
  return compute +
         (warps > 2 ? m.generation.simt_lone_cycles : m.generation.simt_lone_cycles_2_warps);
}

// Blocks that the busiest SM computes.
double busiest_blocks(const Machine& m, const MatrixWork& work, const MatrixTile& tile,
                      double blocks) {
  const double even = ceil_div(blocks, m.sms);
  const double wave = m.sms * tile.blocks_per_sm;
  const bool packs = tile.blocks_per_sm <= m.generation.simt_packed_blocks;
  if (work.tensor || blocks <= wave || !packs) return even;
  const double packed = ceil_div(blocks, wave) * tile.blocks_per_sm;
  return even + (packed - even) * m.generation.simt_wave_packing;
}

double compute_us(const Machine& m, const MatrixWork& work, const MatrixTile& tile,
                  const Grid& grid, double k) {
  const double cycles =
      std::max(busiest_blocks(m, work, tile, grid.blocks) * cycles_per_k(m, work, tile),
               lone_cycles_per_k(m, work, tile));
  const double prologue = work.tensor ? m.shared.tensor_prologue_k : m.shared.simt_prologue_k;
  return throttled(m, work, cycles * (k + prologue) / m.clk);
}

// DRAM bytes over those of an operand, where a k step reads a short piece of every row: the rest of
// the access is wasted unless it stays open or cached, the less so the longer the row.
double fetch_waste(const Machine& m, const MatrixWork& work, const MatrixTile& tile, bool k_major) {
  if (!k_major || work.tensor) return 1;
  const double row_bytes = work.k * work.element_bytes;
  const double far = row_bytes / (row_bytes + m.generation.fetch_half_bytes);
  return 1 + (m.generation.fetch_waste - 1) * far / tile.k_slices;
}

// How often the blocks of later waves read an operand again because L2 could not keep it.
struct Rereads {
  double rows = 1, cols = 1;
};
Rereads rereads(const Machine& m, const MatrixWork& work, const MatrixTile& tile, const Grid& grid,
                double k) {
  Rereads out;
  const double wave = m.sms * tile.blocks_per_sm;
  if (grid.x * grid.y <= wave) return out;
  const double room = m.shared.panel_l2_share * static_cast<double>(m.gpu.l2_bytes);
  const double wave_cols = std::min(grid.x, wave);
  const double wave_rows = std::max(1.0, wave / grid.x) * m.shared.raster_rows;
  const double k_bytes = k * work.element_bytes;
  if (work.cols * k_bytes * wave_cols / grid.x > room) out.cols = std::max(1.0, grid.y / wave_rows);
  if (grid.x > wave && work.rows * k_bytes * wave_rows / grid.y > room) {
    out.rows = std::max(1.0, grid.x / wave_cols);
  }
  return out;
}

double memory_us(const Machine& m, const MatrixWork& work, const MatrixTile& tile, const Grid& grid,
                 double k) {
  const Rereads again = rereads(m, work, tile, grid, k);
  const double bytes = work.batch * work.element_bytes;
  const double rows = bytes * work.rows * work.k;
  const double cols = bytes * work.cols * work.k;
  const double result = bytes * work.rows * work.cols;
  const bool whole = std::fmod(work.cols * work.element_bytes, piece_bytes) == 0 || work.tensor;
  const double moved = rows * again.rows * fetch_waste(m, work, tile, work.rows_k_major) +
                       cols * again.cols * fetch_waste(m, work, tile, work.cols_k_major) +
                       result * (whole ? 1 : m.generation.partial_write);
  return moved * (1 - l2_survival(m, rows + cols + result)) / m.dram;
}

double split_us(const Machine& m, const MatrixWork& work, int split) {
  if (split == 1) return 0;
  const double bytes = 8 * work.batch * work.rows * work.cols * split;
  return m.shared.split_traffic * bytes / m.l2 +
         (work.tensor ? m.shared.tensor_split_us : m.shared.simt_split_us);
}

}  // namespace

MatrixTime tile_time(const Machine& m, const MatrixWork& work, const MatrixTile& tile, int split,
                     double limit_us) {
  const double step = work.tensor ? tensor_k_step : simt_k_step;
  const double k = round_up(std::ceil(work.k / split), step);
  Grid grid{ceil_div(work.cols, tile.m), ceil_div(work.rows, tile.n), 0};
  const double z = work.batch * split;
  grid.blocks = grid.x * grid.y * z;
  const double extra = split_us(m, work, split);
  const double compute = compute_us(m, work, tile, grid, k);
  if (compute + extra >= limit_us) return {compute + extra};
  const double memory = memory_us(m, work, tile, grid, k);
  const double us = work.tensor ? overlap_2(compute, memory) : overlap_4(compute, memory);
  return {
      us + extra, compute > memory ? Bound::compute : Bound::memory, &tile, split, grid.x, grid.y,
      z};
}

MatrixTime matrix_time(const Machine& m, const MatrixWork& work, const TileMenu& menu) {
  MatrixTime best;
  best.us = INFINITY;
  const auto consider = [&](const MatrixTile& tile, int split) {
    const MatrixTime time = tile_time(m, work, tile, split, best.us);
    if (time.us < best.us) best = time;
  };
  for (const MatrixTile& tile : menu.tiles) {
    consider(tile, 1);
    const double blocks = ceil_div(work.cols, tile.m) * ceil_div(work.rows, tile.n) * work.batch;
    for (const int split : splits) {
      if (work.k < shortest_split * split || blocks * split > menu.split_waves * m.sms) break;
      consider(tile, split);
    }
  }
  best.us *= menu.habit;
  return best;
}

MathRate math_rate(const GpuArch& gpu, DataType type) {
  const auto tensor = [&](MathType math) { return MathRate{tensor_fma_per_clk(gpu, math), true}; };
  MathRate rate;
  if (type == DataType::fp16) rate = tensor(MathType::fp16);
  if (type == DataType::bf16) rate = tensor(MathType::bf16);
  if (type == DataType::tf32) rate = tensor(MathType::tf32);
  if (type == DataType::fp64 || type == DataType::complex64)
    rate = {gpu.fp64_lanes * gpu.smsp_per_sm, false};
  if (rate.fma_per_clk > 0) return rate;
  return {fp32_fma_per_clk(gpu), false};
}

void describe(const Machine& m, const MatrixTime& time, KernelTime& out) {
  out.bound = time.bound;
  out.tile_m = time.tile->m;
  out.tile_n = time.tile->n;
  out.split = time.split;
  out.launches = time.split > 1 ? 2 : 1;
  out.grid_x = static_cast<std::int64_t>(time.blocks_x);
  out.grid_y = static_cast<std::int64_t>(time.blocks_y);
  out.grid_z = static_cast<std::int64_t>(time.blocks_z);
  out.waves = time.blocks_x * time.blocks_y * time.blocks_z / (m.sms * time.tile->blocks_per_sm);
}

}  // namespace time_parts

using time_parts::Machine;
using time_parts::math_rate;
using time_parts::MathRate;
using time_parts::matrix_time;
using time_parts::MatrixTime;
using time_parts::MatrixWork;

namespace {

// The kernel that the caller knows ran; a tile that the menu does not hold is left to the menu.
MatrixTime known_kernel(const Machine& m, const MatrixWork& work, const TileMenu& menu,
                        const GemmShape& shape) {
  for (const MatrixTile& tile : menu.tiles) {
    if (tile.m == shape.tile_m && tile.n == shape.tile_n) {
      return tile_time(m, work, tile, std::max(1, shape.split), INFINITY);
    }
  }
  return matrix_time(m, work, menu);
}

// Whether the rows of all three matrices can be loaded 16 bytes at a time.
bool aligned(const MatrixWork& work) {
  const auto whole = [&](double length) { return std::fmod(length * work.element_bytes, 16) == 0; };
  return whole(work.cols) && (work.rows_k_major || work.cols_k_major ? whole(work.k) : true) &&
         (work.rows_k_major || whole(work.rows));
}

}  // namespace

KernelTime gemm_time(const GpuArch& gpu, const GemmShape& shape, const TimeConstants& constants,
                     const TimeContext& context) {
  const Machine m(gpu, constants, context);
  const MathRate rate = math_rate(gpu, shape.type);
  MatrixWork work;
  work.rows = static_cast<double>(shape.m);
  work.cols = static_cast<double>(shape.n);
  work.k = static_cast<double>(shape.k);
  work.batch = static_cast<double>(shape.batch);
  work.rows_k_major = shape.a_k_major;
  work.cols_k_major = shape.b_k_major;
  work.tensor = rate.tensor;
  work.element_bytes = element_bytes(shape.type);
  work.fma_per_clk = rate.fma_per_clk;
  work.aligned = aligned(work);
  const bool batched = shape.batch > 1;
  const TileMenu& menu = tile_menu(gpu, batched ? MatrixUse::batched : MatrixUse::linear,
                                   rate.tensor, work.aligned && work.element_bytes == 2);
  const MatrixTime time =
      shape.tile_m > 0 ? known_kernel(m, work, menu, shape) : matrix_time(m, work, menu);
  KernelTime out;
  describe(m, time, out);
  const double start_us = m.start_us + (menu.tma ? m.generation.tma_start_us : 0);
  out.time_us = start_us + time.us;
  if (time.us < start_us) out.bound = Bound::launch;
  out.confidence =
      1 - (rate.tensor ? m.generation.error_tensor_gemm : m.generation.error_simt_gemm);
  return out;
}

}  // namespace tandem
