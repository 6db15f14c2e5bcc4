// The countable things a kernel does; instruction and traffic costs are sums over them.
#pragma once

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"
#include "models/kernel/work/gemm_shape.h"

namespace tandem {

/// Counts over the whole launch. "Warp-wide" means 32 elements or lanes.
struct KernelFeatures {
  double warps = 0;       // launched
  double elements = 0;    // warp-wide elements; of a matrix kernel: of the padded result
  double walked = 0;      // elements, and those that fill up the rows of a persistent reduction
  double rows = 0;        // independent results of a reduction; of attention: padded queries
  double busy = 0;        // warps that hold a part of a row; short rows leave warps of a block idle
  double taps = 0;        // launched warps times k: depthwise kernels, threads of fixed work
  double indexed = 0;     // elements times index dimensions beyond the first
  double multiplies = 0;  // tensor instructions of a warp, or warp-wide FFMA
  double fragments = 0;   // reads of operand fragments from shared memory, in multiplies' units
  double loads = 0;       // warp-wide loads of operand tiles; loads and stores of generated kernels
  double converted = 0;   // warp-wide elements that a generated kernel converts to or from FP32
  double passed = 0;      // steps in which its warps pass results of rows from lane to lane
  double transposed = 0;  // of the loads, the ones of operands that are not contiguous along k
  double narrow = 0;      // of the loads, asynchronous copies of four bytes a lane
  double dropped = 0;     // warp-wide scores of attention that drops out
  double masked = 0;      // ... to which a mask in memory is added
  double compared = 0;    // ... in tiles that cross the end of the keys or the diagonal
  double steps = 0;       // k steps of all blocks
  double tiles = 0;       // output tiles of all blocks, split-K included
  TileGrid grid;          // matrix kernels
  int splits = 1;         // blocks that share one output tile
  double mma_n = 0;       // columns of a warp-group instruction, in the mean
};

KernelFeatures kernel_features(const KernelLaunch& launch);

/// Tensor-core products that a kernel makes of one product of its operands: FP32 attention
/// (CUTLASS) splits them into three of TF32. Counted: tensor instructions of 14 kernels under
/// Nsight Compute.
int products_per_multiply(const KernelLaunch& launch);

/// Warps of one block.
int warps_per_block(const LaunchGeometry& geometry);
std::int64_t blocks_of(const LaunchGeometry& geometry);

/// Columns of a warp-group instruction of a kernel whose shapes are not known.
inline constexpr double usual_mma_columns = 128;
/// Tensor-core multiply-adds of one warp instruction.
double macs_per_instruction(const KernelTraits& traits, double mma_n);

}  // namespace tandem
