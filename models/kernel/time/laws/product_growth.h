// Time of a matrix product on the best tile and split, what a library that chooses well would
// reach: how a measured kernel grows with its product.
//
// gemm.cpp answers another question: the absolute time of the kernels that a library really has.
// Each was tried in the other's place: the menu's steps, which a measured kernel does not share,
// make batch predictions worse (1.3 to 2.0 % of the GPU time on the fitted set, 2.8 to 3.3 % on
// models that neither has seen).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Extents of the product behind a GEMM or a convolution (as implicit GEMM).
struct Product {
  double batch = 1, m = 0, n = 0, k = 0;
  double bytes = 0;     // operands and result
  double launches = 1;  // that share the work, where their number follows the batch
  bool convolution = false;
  bool fused = false;  // adds a bias as it writes: FP32 kernels then do not split k
};

/// Matrix products on tensor cores: the time of a step along k of one tile.
struct TensorRates {
  double efficiency = 0;        // share of the peak multiply rate that a full tile reaches
  double l2_bytes_per_clk = 0;  // operand bytes that reach an SM per clock
};

/// Times in us; documentation: product_growth.cpp.
struct ProductGrowth {
  TensorRates gemm_half, conv_half, tf32;
  double tensor_floor_us = 0;
  double tile_latency_us = 0;
  double split_us = 0;
  double simt_floor_us = 0;
  double simt_share = 0;
  double simt_operand_slots = 0;
  double simt_step_cycles = 0;
  double simt_split_us = 0;

  /// Launch floor of a matrix kernel.
  double floor_us(const KernelClass& kernel) const;
};
std::vector<Field<ProductGrowth>> product_growth_fields();

/// What a library decides for a product: another choice is another kernel.
struct TileChoice {
  int m = 0, n = 0;
  int split = 1;  // parts of k
  friend bool operator==(const TileChoice&, const TileChoice&) = default;
};
/// "products in tiles of 128x64, k in 2 parts".
std::string describe(const TileChoice& choice);

struct BestTileTime {
  double us = 0;  // without the floor
  TileChoice choice;
};
/// `dram_share`: of its peak, for products bound by memory.
BestTileTime best_tile_time(const GpuArch& gpu, const ProductGrowth& growth, double dram_share,
                            const KernelClass& kernel, const Product& product);

/// How much longer the traced kernel would take for more work, at most; infinite if that is not
/// known. The library may choose a better one, but need not choose a worse one.
double kept_kernel_growth(const GpuArch& gpu, const KernelTraits& kernel,
                          const LaunchGeometry& geometry, const Product& base, const Product& next);

/// Whether a launch of the kernel computes one of the product's `batch` members, as its blocks say:
/// libraries run some grouped convolutions group by group.
bool runs_one_member(const KernelTraits& kernel, const LaunchGeometry& geometry,
                     const Product& product);
/// How much longer such a launch takes: as its blocks fill the SMs one round after another.
double member_growth(const GpuArch& gpu, const KernelTraits& kernel, const Product& base,
                     const Product& next);

/// How much longer a convolution takes whose kernel's name tells no tile and whose blocks, which
/// follow the rows of the product, have an SM each; nothing where they have not.
std::optional<double> lone_blocks_growth(const GpuArch& gpu, const KernelTraits& kernel,
                                         const LaunchGeometry& geometry, const Product& base,
                                         const Product& next);

}  // namespace tandem
