// The rules by which PyTorch sizes its launches: models read sizes off launches by them, workloads
// make launches by them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/device.h"
#include "sim/core/tensors/tensor.h"
#include "sim/core/units.h"

namespace tandem {

/// Blocks of `b` that hold `a`; 0 where nobody knows how large a block is.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
inline std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
/// The largest power of two up to `n`, at least one.
inline std::int64_t last_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}
/// Blocks along one side of a grid: at least one, and no more than CUDA launches.
inline std::uint32_t grid_side(std::int64_t blocks) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(blocks, 1, 0x7fffffff));
}

// Lists of tensors (ATen/native/cuda/MultiTensorApply.cuh): a block takes a chunk, a launch so many
// of them at most.
inline constexpr std::int64_t multi_tensor_chunk = 65536;  // elements
inline constexpr int multi_tensor_chunks = 320;

// Sums (ATen/native/cuda/Reduce.cuh).
inline constexpr std::int64_t least_values_per_thread = 16;
inline constexpr std::int64_t most_values_per_thread = 256;

/// Blocks that share a result of which each thread of one block would add up `values`: where that
/// is many, and the results' `blocks` alone do not fill the `resident` places of the GPU.
inline std::int64_t blocks_sharing_result(std::int64_t values, std::int64_t blocks,
                                          std::int64_t resident) {
  if (values < most_values_per_thread || blocks > resident) return 1;
  const std::int64_t filling = ceil_div(resident, blocks);
  return std::max(std::min(filling, ceil_div(values, least_values_per_thread)),
                  ceil_div(values, most_values_per_thread));
}

/// Indices up to which the gradient of an embedding is one kernel, whose blocks look each of them
/// up; beyond, they are sorted first (ATen/native/cuda/Embedding.cu,
/// embedding_dense_backward_cuda).
inline constexpr std::int64_t most_unsorted_indices = 3072;

/// The longest row of a softmax that a warp takes (ATen/native/cuda/SoftMax.cu); a block takes
/// longer ones.
inline constexpr std::int64_t softmax_warp_columns = 1024;

// Transforms between the orders of images (cuDNN): a block turns a tile of pixels by channels, in
// shared memory whose rows are a word longer so that its banks do not collide.
inline constexpr std::int64_t transform_tile = 32;
inline std::array<std::int64_t, 3> transform_grid(const TensorShape& image) {
  const std::int64_t planes =
      std::max<std::int64_t>(limits::product(image.dims[0], image.dims[1]), 1);
  return {ceil_div(image.elements() / planes, transform_tile),
          ceil_div(image.dims[1], transform_tile), image.dims[0]};
}
/// Whether a transform with this grid may turn `image`.
inline bool turns(const LaunchGeometry& geometry, const TensorShape& image) {
  if (image.rank < 3) return false;
  const auto grid = transform_grid(image);
  return std::equal(grid.begin(), grid.end(), geometry.grid.begin());
}
/// Of FP32.
inline LaunchGeometry transform_geometry(const TensorShape& image) {
  constexpr std::uint32_t tile = transform_tile, rows_at_once = 8, registers = 32;
  const auto grid = transform_grid(image);
  const auto blocks = [&](std::size_t i) { return static_cast<std::uint32_t>(grid[i]); };
  return {{blocks(0), blocks(1), blocks(2)},
          {tile, rows_at_once, 1},
          registers,
          tile * (tile + 1) * static_cast<std::uint32_t>(sizeof(float))};
}

/// Whether parts of 32 rows are summed first, and added up with two more kernels, in the gradient
/// of a row norm's scale and shift: where rows are many and columns leave most SMs idle
/// (ATen/native/cuda/layer_norm_kernel.cu, LaunchGammaBetaBackwardCUDAKernel).
inline bool sums_rows_in_parts(const GpuArch& gpu, double rows, double columns) {
  constexpr double most_rows = 64 * 1024;
  return rows > most_rows && columns / lanes_per_warp < gpu.sm_count / 2;
}

}  // namespace tandem
