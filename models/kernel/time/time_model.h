// Time of a kernel from the shape of its operation alone: what the GPU needs, without a trace.
//
// One law for all: the work of the busiest SM at the rate its tile reaches, the DRAM traffic that
// caches do not serve, and their imperfect overlap. Everything that is not physics - which kernels
// the libraries pick from - is a table (tile_tables.cpp), every constant is in
// configs/kernels/time.json. Pure functions; none allocates.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"
#include "models/kernel/time/time_constants.h"

namespace tandem {

/// C[batch][m][n] = sum over k of A[m][k] B[k][n], C row-major.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DataType type = DataType::fp32;
  bool a_k_major = true;   // A is contiguous along k
  bool b_k_major = false;  // B is: a weight matrix [n][k]
  /// A kernel known from a trace, as its name states it; 0: the library's choice is predicted.
  std::uint16_t tile_m = 0, tile_n = 0;
  int split = 0;
};

struct PointwiseShape {
  std::int64_t elements = 0;
  int reads = 1, writes = 1;  // tensors of `elements` elements
  DataType type = DataType::fp32;
  double instructions = 0;  // of a thread for each element; 0: they do not count
};

/// `rows` independent rows that are normalised over `columns`.
struct RowShape {
  std::int64_t rows = 0, columns = 0;
  DataType type = DataType::fp32;
};

struct ConvLayer {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0;
  std::int64_t height = 0, width = 0;  // of the input
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_h = 0, pad_w = 0;
  DataType type = DataType::fp32;
  Pass pass = Pass::forward;
};

/// Strides and padding of a layer from the sizes of its images before and after.
void set_strides(ConvLayer& layer, std::int64_t out_height, std::int64_t out_width);

/// How the kernel is run.
struct TimeContext {
  /// warm: the operands are what the kernel itself or the one before left in L2.
  CacheState cache = CacheState::warm;
  /// Runs of such kernels in a row; a long load runs at the clock that the power limit allows.
  double repeats = 1;
};

enum class KernelAlgorithm : std::uint8_t {
  direct,  // one kernel: GEMM, implicit GEMM, streaming
  winograd_fused,
  winograd_transformed,  // transforms to and from memory around a batch of products
};

struct KernelTime {
  double time_us = 0;
  Bound bound = Bound::memory;
  KernelAlgorithm algorithm = KernelAlgorithm::direct;
  std::uint16_t tile_m = 0, tile_n = 0;             // of the main kernel; 0: no tile
  std::int64_t grid_x = 0, grid_y = 0, grid_z = 0;  // of the main kernel
  int split = 1;                                    // parts that k is split into, within grid_z
  int launches = 1;                                 // kernels and memsets
  double waves = 0;                                 // blocks an SM
  double confidence = 0;                            // 0..1
};

KernelTime gemm_time(const GpuArch& gpu, const GemmShape& shape, const TimeConstants& constants,
                     const TimeContext& context = {});
KernelTime pointwise_time(const GpuArch& gpu, const PointwiseShape& shape,
                          const TimeConstants& constants, const TimeContext& context = {});
KernelTime layer_norm_time(const GpuArch& gpu, const RowShape& shape,
                           const TimeConstants& constants, const TimeContext& context = {});
KernelTime softmax_time(const GpuArch& gpu, const RowShape& shape, const TimeConstants& constants,
                        const TimeContext& context = {});
KernelTime conv_time(const GpuArch& gpu, const ConvLayer& shape, const TimeConstants& constants,
                     const TimeContext& context = {});

}  // namespace tandem
