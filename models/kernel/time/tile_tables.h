// What the libraries choose from: matrix tiles by compute capability and kind of product.
#pragma once

#include <cstdint>
#include <span>

#include "models/kernel/time/time_constants.h"

namespace tandem {

/// A library's kernel. m and n as kernel names state them: the grid is ceil(columns of C / m) x
/// ceil(rows of C / n) blocks, for the libraries see the row-major C transposed.
struct MatrixTile {
  std::uint16_t m = 0, n = 0;
  std::uint16_t threads = 0;
  std::uint8_t k_slices = 1;  // warp groups of a block that share its k
  std::uint8_t blocks_per_sm = 1;
  double TimeGeneration::*efficiency = nullptr;  // null: tensor cores
  std::uint8_t sharers = 1;  // blocks of a cluster that load the longer operand once for all
};

/// Which calls a menu serves: plain and weight products (k-contiguous operands), batched ones, the
/// products in the winograd domain, implicit GEMM of a convolution.
enum class MatrixUse : std::uint8_t { linear, batched, winograd, convolution };

/// The kernels a library picks from for one use, and its habits. Rows for a compute capability hold
/// up to the next one that has a row of the same use.
struct TileMenu {
  int compute_major;
  MatrixUse use;
  bool tensor;
  std::span<const MatrixTile> tiles;
  double split_waves;  // k is split while the grid has at most this many blocks an SM; 0: never
  double habit;        // typical time of the library's choice over that of the best
  bool tma = false;    // for half products whose rows the tensor memory accelerator can load
};

/// The menu for a GPU. There is one for every combination; `tma`: half types, aligned rows.
const TileMenu& tile_menu(const GpuArch& gpu, MatrixUse use, bool tensor, bool tma = false);

}  // namespace tandem
