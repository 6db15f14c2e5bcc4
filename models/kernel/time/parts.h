// Parts that the time models of all kernel families share. Internal to models/kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/kernel/time/l2_kept.h"
#include "models/kernel/time/tile_tables.h"
#include "models/kernel/time/time_model.h"

namespace tandem::time_parts {

inline double ceil_div(double a, double b) { return std::ceil(a / b); }
inline double round_up(double a, double b) { return ceil_div(a, b) * b; }

/// Two phases that overlap, but not perfectly: the longer one, plus little of one much shorter.
/// Kernels with many independent warps overlap better (4) than those in step (2).
inline double overlap_2(double a, double b) { return std::sqrt(a * a + b * b); }
inline double overlap_4(double a, double b) { return std::sqrt(overlap_2(a * a, b * b)); }

/// What the models need of a GPU, per microsecond and cycle.
struct Machine {
  const GpuArch& gpu;
  const TimeShared& shared;
  const TimeGeneration& generation;
  const TimeContext& context;
  double sms;
  double clk;           // SM cycles a microsecond
  double dram;          // bytes a microsecond
  double l2;            // bytes a microsecond
  double start_us;      // of a kernel that does nothing
  double simt_clock;    // under a long load, over the boost clock
  double tensor_clock;  // the same
  Machine(const GpuArch& gpu_in, const TimeConstants& constants, const TimeContext& context_in)
      : gpu(gpu_in),
        shared(constants.shared()),
        generation(constants.generation(gpu_in)),
        context(context_in),
        sms(gpu_in.sm_count),
        clk(gpu_in.boost_clock_mhz),
        dram(1e3 * std::min(gpu_in.dram_peak_gbps * shared.dram_efficiency, gpu_in.dram_read_gbps)),
        l2(gpu_in.l2_read_gbps * 1e3),
        start_us(gpu_in.graph_kernel_period_us),
        simt_clock(sustained_simt_clock()),
        tensor_clock(gpu_in.tensor_clock_mhz / gpu_in.boost_clock_mhz) {}

 private:
  // The clock at which dynamic power, which falls with its cube, fits below the board's limit.
  double sustained_simt_clock() const {
    const double fma_per_us = sms * fp32_fma_per_clk(gpu) * clk;
    const double full_w = generation.fp32_fma_pj * 1e-6 * fma_per_us;
    return std::min(1.0, std::cbrt((gpu.tdp_w - gpu.idle_w) / full_w));
  }
};

/// Share of what a repeated or preceding kernel touched that is still in L2.
inline double l2_survival(const Machine& m, double footprint_bytes) {
  if (m.context.cache == CacheState::cold) return 0;
  return l2_kept(m.gpu, footprint_bytes);
}

/// Time to move `bytes`, of which each is touched once.
inline double stream_us(const Machine& m, double bytes) {
  return std::max(bytes * (1 - l2_survival(m, bytes)) / m.dram, bytes / m.l2);
}

/// A kernel that moves `bytes` once while its instructions take `issue_us`.
KernelTime streaming_time(const Machine& m, double bytes, double issue_us = 0);

/// A matrix product in the terms of a library kernel.
struct MatrixWork {
  double rows = 0, cols = 0, k = 0, batch = 1;  // C is rows x cols, cols contiguous
  bool rows_k_major = true, cols_k_major = false;
  bool tensor = false;
  bool aligned = true;  // rows are a multiple of what tensor-core kernels load at once
  double element_bytes = 4;
  double fma_per_clk = 0;  // of an SM
};

struct MatrixTime {
  double us = 0;
  Bound bound = Bound::compute;
  const MatrixTile* tile = nullptr;
  int split = 1;
  double blocks_x = 0, blocks_y = 0, blocks_z = 0;
};

/// Time of one tile and split, without the start of the kernel. One that is not below `limit_us` is
/// not computed to the end: its time is a lower bound, its tile null.
MatrixTime tile_time(const Machine& m, const MatrixWork& work, const MatrixTile& tile, int split,
                     double limit_us);
/// The best of a menu's tiles and splits, with the menu's habit.
MatrixTime matrix_time(const Machine& m, const MatrixWork& work, const TileMenu& menu);

/// FMA a clock and SM, and whether tensor cores do them.
struct MathRate {
  double fma_per_clk = 0;
  bool tensor = false;
};
MathRate math_rate(const GpuArch& gpu, DataType type);

/// Fills the result's tile, grid and waves from the main kernel.
void describe(const Machine& m, const MatrixTime& time, KernelTime& out);

}  // namespace tandem::time_parts
