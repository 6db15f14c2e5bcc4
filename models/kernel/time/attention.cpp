#include "models/kernel/time/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

#include "models/kernel/time/rates.h"
#include "models/kernel/time/time_constants.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr double narrow_width = 64;  // of a head in the smallest kernels

/// Tiles that the block at `place` of its head walks over.
double tiles_seen(const AttentionPace& pace, double place, double walked) {
  if (pace.backward) {  // queries from the keys' own on
    return walked - std::min(walked - 1, std::floor(place * pace.own_rows / pace.walked_rows));
  }
  return std::min(walked, std::ceil((place + 1) * pace.own_rows / pace.walked_rows));
}

/// Cycles of a block without tiles, and of one of its tiles.
struct BlockCycles {
  double start = 0, tile = 0;
};

/// Blocks of the kernel, and tiles of one that sees all.
struct Blocks {
  double own = 0, heads = 0, walked = 0;
  double all() const { return own * heads; }
};

Blocks blocks_of(const AttentionPace& pace, const AttentionShape& s) {
  const auto own = static_cast<double>(pace.backward ? s.keys : s.queries);
  const auto walked = static_cast<double>(pace.backward ? s.queries : s.keys);
  return {std::ceil(own / pace.own_rows), static_cast<double>(s.heads),
          std::ceil(walked / pace.walked_rows)};
}

/// Where blocks see what comes before them: the places of a head come one after the other, head
/// after head, and each block goes to the SM that is free first. Measured: bench/capture/
/// masked_fused.py, 2.4 % off forward and 3.4 backward; SM after SM is 8 and 7 % off.
double causal_cycles(const GpuArch& gpu, const AttentionPace& pace, const Blocks& blocks,
                     const BlockCycles& cycles) {
  constexpr double most_rounds = 16;  // beyond them all SMs see the same mix
  if (blocks.all() > most_rounds * gpu.sm_count) {
    return std::ceil(blocks.all() / gpu.sm_count) *
           (cycles.start + (blocks.walked + 1) / 2 * cycles.tile);
  }
  using Earliest = std::priority_queue<double, std::vector<double>, std::greater<>>;
  Earliest free_at(std::greater<>{}, std::vector<double>(static_cast<std::size_t>(gpu.sm_count)));
  double end = 0;
  for (double block = 0; block < blocks.all(); ++block) {
    const double place = std::fmod(block, blocks.own);
    const double until =
        free_at.top() + cycles.start + tiles_seen(pace, place, blocks.walked) * cycles.tile;
    free_at.pop();
    free_at.push(until);
    end = std::max(end, until);
  }
  return end;
}

/// Cycles of the SM that ends last.
double last_cycles(const GpuArch& gpu, const AttentionPace& pace, const AttentionShape& s,
                   const BlockCycles& cycles) {
  const Blocks blocks = blocks_of(pace, s);
  if (s.causal) return causal_cycles(gpu, pace, blocks, cycles);
  return std::ceil(blocks.all() / gpu.sm_count) * (cycles.start + blocks.walked * cycles.tile);
}

/// Cycles that do anything but multiply matrices and take exponentials, on this GPU.
double on_lanes(const GpuArch& gpu, const AttentionPace& pace, double cycles) {
  return cycles * pace.lanes / fp32_fma_per_clk(gpu);
}

/// Cycles of one tile: its products at the peak rate of an SM, its exponentials, and the rest.
double tile_cycles(const GpuArch& gpu, const AttentionPace& pace, const AttentionShape& s) {
  const double products = attention_products(pace.backward);
  // One product in FP32 is three in TF32, where the SM has such.
  const double rate = pace.type == DataType::fp16
                          ? gpu.tensor_fp16_fma_per_clk
                          : std::max(gpu.tensor_tf32_fma_per_clk / 3, fp32_fma_per_clk(gpu));
  const double width = narrow_width * std::ceil(static_cast<double>(s.width) / narrow_width);
  const double scores = pace.own_rows * pace.walked_rows;
  double rest =
      pace.tile_cycles * (static_cast<double>(s.width) > narrow_width ? pace.wide_ratio : 1);
  if (s.drops_out) rest += pace.dropout_cycles;
  if (s.mask_elements > 0) {
    rest += pace.mask_cycles + (s.keys % 8 != 0 ? pace.odd_mask_cycles : 0);
  }
  return products * scores * width / rate + scores / (gpu.xu_lanes * gpu.smsp_per_sm) +
         on_lanes(gpu, pace, rest);
}

double start_cycles(const GpuArch& gpu, const AttentionPace& pace, const AttentionShape& s) {
  double cycles =
      pace.start_cycles * (static_cast<double>(s.width) > narrow_width ? pace.wide_ratio : 1);
  if (s.mask_elements > 0) cycles += pace.mask_start_cycles;
  if (s.causal) cycles += pace.diagonal_cycles;
  return on_lanes(gpu, pace, cycles);
}

/// Operands and results, once; backward adds gradients of the queries in FP32.
double bytes_moved(const AttentionPace& pace, const AttentionShape& s) {
  const double size = element_bytes(pace.type);
  const auto queries = static_cast<double>(s.queries), keys = static_cast<double>(s.keys);
  const double row = static_cast<double>(s.heads) * static_cast<double>(s.width);
  const double operands = pace.backward ? row * (size * (3 * queries + 4 * keys) + 8 * queries)
                                        : row * size * 2 * (queries + keys);
  return operands + size * static_cast<double>(s.mask_elements);
}

}  // namespace

std::span<const Field<AttentionPace>> attention_pace_fields() {
  using P = AttentionPace;
  constexpr Range or_zero = Range::non_negative;
  static const std::vector<Field<P>> fields{
      field("own_rows", "row", "rows that a block keeps", &P::own_rows),
      field("walked_rows", "row", "rows of a tile that it walks over", &P::walked_rows),
      field("lanes", "count", "FP32 lanes of an SM of the GPU that it was measured on", &P::lanes),
      field("floor_us", "us", "start and end of the kernel", &P::floor_us),
      field("start_cycles", "cycle", "of a block, without tiles", &P::start_cycles),
      field("tile_cycles", "cycle", "of a tile, beyond products and exponentials", &P::tile_cycles),
      field("wide_ratio", "ratio", "both for heads wider than 64, over narrower ones",
            &P::wide_ratio),
      field("dropout_cycles", "cycle", "of a tile that draws random numbers", &P::dropout_cycles,
            or_zero),
      field("mask_start_cycles", "cycle", "of a block with a mask in memory", &P::mask_start_cycles,
            or_zero),
      field("mask_cycles", "cycle", "of a tile with a mask in memory", &P::mask_cycles, or_zero),
      field("odd_mask_cycles", "cycle", "... whose rows end within 16 bytes", &P::odd_mask_cycles,
            or_zero),
      field("diagonal_cycles", "cycle", "of a block that sees only earlier keys",
            &P::diagonal_cycles, or_zero),
      field("exposed_share", "ratio", "of the time of its bytes in DRAM that tiles do not hide",
            &P::exposed_share, or_zero)};
  return fields;
}

namespace {

AttentionTime time_at(const GpuArch& gpu, const AttentionPace& pace, double dram_share,
                      const AttentionShape& shape) {
  const double cycles = last_cycles(
      gpu, pace, shape, {start_cycles(gpu, pace, shape), tile_cycles(gpu, pace, shape)});
  const double memory = dram_us(gpu, bytes_moved(pace, shape), dram_share);
  const double compute = cycles / gpu.boost_clock_mhz + pace.exposed_share * memory;
  return {pace.floor_us + std::max(memory, compute), memory > compute};
}

}  // namespace

double attention_us(const GpuArch& gpu, const AttentionPace& pace, double dram_share,
                    const AttentionShape& shape) {
  return time_at(gpu, pace, dram_share, shape).us;
}

AttentionTime attention_time(const GpuArch& gpu, const TimeConstants& constants,
                             const AttentionShape& shape, DataType type, bool backward) {
  return time_at(gpu, constants.attention(type, backward, shape.learned_mask),
                 constants.shared().dram_efficiency, shape);
}

double attention_us(const GpuArch& gpu, const TimeConstants& constants, const AttentionShape& shape,
                    DataType type, bool backward) {
  return attention_time(gpu, constants, shape, type, backward).us;
}

}  // namespace tandem
