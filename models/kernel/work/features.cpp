#include "models/kernel/work/features.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/kernel/kinds.h"
#include "models/kernel/work/operand_bytes.h"

namespace tandem {
namespace {

// Columns of the warp-group instruction. The tile side that is a multiple of 64 rows becomes m; two
// cooperating groups of a large tile halve the other side.
int gmma_columns(const KernelTraits& t) {
  if (t.swapped) return std::min<int>(t.tile_m, 256);
  if (t.cooperative_n) return t.tile_n / 2 >= gmma_rows ? t.tile_n / 2 : t.tile_m / 2;
  return std::min<int>(t.tile_m % gmma_rows == 0 ? t.tile_n : t.tile_m, 256);
}

int split_count(const KernelLaunch& launch, const TileGrid& grid) {
  const std::int64_t blocks = blocks_of(launch.geometry);
  if (grid.tiles == 0 || launch.traits.engine == Engine::gmma) return 1;
  return static_cast<int>(std::max<std::int64_t>(1, blocks / grid.tiles));
}

// Fragments a warp reads per multiply: perimeter over area of its share of the tile.
double fragment_share(const KernelLaunch& launch) {
  const KernelTraits& t = launch.traits;
  const double area = double(t.tile_m) * t.tile_n / warps_per_block(launch.geometry);
  const double side = std::sqrt(std::max(area, 1.0));
  // A warp multiplies 16 x 8 at once; each of its 32 lanes FFMA covers one product.
  return t.engine == Engine::simt ? std::sqrt(32.0) / side : 16.0 / side;
}

// Forward attention is two products: scores have as many columns as the key tile, results as many
// as a head is wide.
void attention_multiplies(const KernelLaunch& launch, bool forward, KernelFeatures& f) {
  const double width = static_cast<double>(launch.work.matrix.k);
  if (launch.traits.engine == Engine::gmma && forward && width > 0) {
    const double instructions = 0.5 * (1 + f.mma_n / std::min(width, 256.0));
    f.multiplies *= instructions;
    f.mma_n /= instructions;
  }
  f.multiplies *= products_per_multiply(launch);
}

// A score is an element of one of the products.
void attention_features(const KernelLaunch& launch, KernelFeatures& f) {
  const MatrixProblem& p = launch.work.matrix;
  const KernelTraits& t = launch.traits;
  const bool forward = row_of(t).direction == Direction::forward;
  attention_multiplies(launch, forward, f);
  const double products = attention_products(!forward);
  const double scores = f.elements / products;
  const auto queries = static_cast<double>((p.m + t.tile_m - 1) / t.tile_m * t.tile_m);
  f.rows = static_cast<double>(p.batch) / products * queries;
  if (p.drops_out) f.dropped = scores;
  if (p.mask_bytes > 0) f.masked = scores;
  if (p.causal || p.n % t.tile_n != 0) {
    f.compared = std::min(scores, f.rows * t.tile_n / lanes_per_warp);
  }
}

void matrix_features(const KernelLaunch& launch, KernelFeatures& f) {
  const KernelTraits& t = launch.traits;
  f.grid = tile_grid(t, launch.work.matrix, launch.geometry);
  if (f.grid.tiles == 0) return;
  f.splits = split_count(launch, f.grid);
  f.tiles = static_cast<double>(f.grid.tiles) * f.splits;
  f.steps = static_cast<double>(f.grid.tiles) * static_cast<double>(f.grid.k_steps);
  const double area = double(t.tile_m) * t.tile_n;
  f.elements = f.tiles * area / 32;
  f.walked = f.elements;  // lanes beyond the edge of a matrix execute what the others do
  f.mma_n = t.engine == Engine::gmma ? gmma_columns(t) : 0;
  f.multiplies = f.grid.padded_macs / macs_per_instruction(t, f.mma_n);
  if (launch.family == KernelFamily::attention) attention_features(launch, f);
  // A warp-group instruction reads its share of both operands from shared memory itself.
  f.fragments = t.engine == Engine::gmma ? f.multiplies * (f.mma_n / 16.0 + 4)
                                         : f.multiplies * fragment_share(launch);
  const double bytes = element_bytes(t.data);
  const double line = f.steps * t.tile_k * bytes / (32.0 * t.load_bytes);  // loads of one row
  f.loads = line * (t.tile_m + t.tile_n);
  // Rows without a multiple of 16 bytes: four bytes are the least that cp.async copies, and they
  // fall into few banks of a layout made for sixteen.
  f.narrow = t.engine == Engine::hmma && t.load_bytes == 4 ? f.loads : 0;
  f.transposed = line * ((t.a_k_major ? 0 : t.tile_m) + (t.b_k_major ? 0 : t.tile_n));
}

// Convolutions whose tile is not stated, and channels by themselves: a multiply is a warp-wide
// FFMA.
void untiled_features(const MatrixProblem& p, KernelFeatures& f) {
  f.multiplies =
      static_cast<double>(p.batch * p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / 32;
  f.taps = f.warps * static_cast<double>(p.k);
}

// Norms load four elements a lane at once: a row keeps as many warps of its block busy as it has
// vectors for.
double busy_warps(const KernelFeatures& f) {
  constexpr double vector = 4;
  if (f.rows <= 0 || f.warps < f.rows) return 0;
  return f.rows * std::min(f.warps / f.rows, std::ceil(f.elements / f.rows / vector));
}

// A persistent reduction holds its rows at once, filled up to a power of two; so are the rows of a
// block.
double walked_elements(const KernelLaunch& launch) {
  const double blocks = static_cast<double>(blocks_of(launch.geometry));
  if (launch.traits.kind != Kind::triton_persistent || blocks <= 0) return launch.work.elements;
  constexpr double most = 0x1p52;  // whole numbers are exact up to there
  const auto of_block =
      static_cast<std::uint64_t>(std::min(most, std::ceil(launch.work.elements / blocks)));
  return blocks * static_cast<double>(std::bit_ceil(of_block));
}

/// Of a kernel whose operands are not known: each moves 16 bytes a lane.
double accesses_of(const KernelWork& work) {
  if (work.accesses > 0) return work.accesses;
  return (work.read_bytes + work.write_bytes) / (widest_access * lanes_per_warp);
}

}  // namespace

int warps_per_block(const LaunchGeometry& g) {
  return static_cast<int>((std::uint64_t{g.block[0]} * g.block[1] * g.block[2] + 31) / 32);
}

std::int64_t blocks_of(const LaunchGeometry& g) {
  return std::int64_t{g.grid[0]} * g.grid[1] * g.grid[2];
}

double macs_per_instruction(const KernelTraits& t, double mma_n) {
  switch (t.engine) {
    case Engine::gmma: return gmma_rows * mma_n * t.mma_k / group_warps;
    case Engine::hmma: return t.mma_k == 4 ? 256.0 : 16.0 * 8.0 * t.mma_k;
    case Engine::simt:
    case Engine::none: return 32.0;
  }
  return 32.0;
}

int products_per_multiply(const KernelLaunch& launch) {
  return launch.family == KernelFamily::attention && launch.math == DataType::tf32 ? 3 : 1;
}

KernelFeatures kernel_features(const KernelLaunch& launch) {
  KernelFeatures f;
  f.warps = static_cast<double>(blocks_of(launch.geometry)) * warps_per_block(launch.geometry);
  f.elements = launch.work.elements / 32;
  f.walked = walked_elements(launch) / 32;
  f.rows = launch.work.rows;
  f.indexed = f.elements * (launch.work.index_dims - 1);
  f.busy = busy_warps(f);
  if (row_of(launch.traits).depthwise || launch.traits.kind == Kind::convolve_sgemm) {
    untiled_features(launch.work.matrix, f);
  } else if (launch.traits.tile_m > 0) {
    matrix_features(launch, f);
  } else if (row_of(launch.traits).work == WorkRule::generated) {
    const double filled = f.elements > 0 ? f.walked / f.elements : 1;
    f.loads = filled * accesses_of(launch.work);
    f.converted = filled * launch.work.converted / lanes_per_warp;
    f.passed = launch.work.passed;
  }
  return f;
}

}  // namespace tandem
