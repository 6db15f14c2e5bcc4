// Launch geometries at another batch: how the libraries cut work into blocks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "models/kernel/launch_rules.h"
#include "models/whatif/batch/kernel.h"
#include "models/whatif/batch/matrix.h"
#include "models/whatif/batch/reduction.h"

namespace tandem {
namespace {

using Grid = std::array<std::int64_t, 3>;

// A number of things (elements, rows, images) that blocks may be handed, at both batches.
struct Count {
  std::int64_t base = 0, target = 0;
};

// Rows and images stand before elements: a grid that equals the rows is no coincidence.
struct Counts {
  Count rows, images, elements;
};
Counts counts_of(const BatchOp& op, const OpTensors& target) {
  Counts out;
  for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
    const TensorShape &a = op.tensors.shapes[i], &b = target.shapes[i];
    if (op.axis[i] < 0 || a.elements() <= out.elements.base) continue;
    const auto axis = static_cast<std::size_t>(op.axis[i]);
    const std::int64_t row = std::max<std::int64_t>(a.dims[a.rank - 1U], 1);
    out.elements = {a.elements(), b.elements()};
    out.images = {a.dims[axis], b.dims[axis]};
    out.rows = {a.elements() / row, b.elements() / row};
  }
  return out;
}

bool hands_out(const Count& count, std::int64_t per_block, Grid& grid) {
  if (count.base <= 0) return false;
  for (std::int64_t& blocks : grid) {
    if (blocks > 1 && ceil_div(count.base, per_block) == blocks) {
      blocks = ceil_div(count.target, per_block);
      return true;
    }
  }
  return false;
}

// One block per row or image, or per power of two of elements. False: none explains the grid.
bool resize_by_count(const Counts& counts, Grid& grid) {
  for (const std::int64_t rows : {1, 4, 2, 8, 16}) {
    if (hands_out(counts.rows, rows, grid) || hands_out(counts.images, rows, grid)) return true;
  }
  for (const std::int64_t elements : {512, 1024, 2048, 256, 4096, 128, 64, 32}) {
    if (hands_out(counts.elements, elements, grid)) return true;
  }
  return false;
}

std::int64_t product(const Grid& g) { return g[0] * g[1] * g[2]; }

void scale_largest(Grid& grid, double ratio) {
  auto it = std::max_element(grid.begin(), grid.end());
  *it = std::max<std::int64_t>(1, std::llround(std::ceil(static_cast<double>(*it) * ratio - 1e-6)));
}

// Grid-stride loops start a fixed number of blocks per SM, whatever the size.
bool is_capped(const BatchChange& c, const Grid& grid) {
  const std::int64_t blocks = product(grid);
  return blocks == 1024 || (blocks >= 4 * c.gpu.sm_count && blocks % (4 * c.gpu.sm_count) == 0);
}

// Blocks follow the tiles, which the name states; persistent kernels start one per SM at most.
void resize_matrix(const BatchChange& c, const BatchKernel& k, const OpTensors& target,
                   Grid& grid) {
  const auto base = product_of(k, k.op->tensors), next = product_of(k, target);
  const KernelTraits& t = k.kernel.traits;
  if (!base || !next) return scale_largest(grid, c.ratio());
  const double tile_m = std::max<int>(t.tile_m, 1), tile_n = std::max<int>(t.tile_n, 1);
  const auto tiles = [&](const Product& p) {
    return p.batch * std::ceil(p.m / tile_m) * std::ceil(p.n / tile_n);
  };
  const double before = tiles(*base), after = tiles(*next);
  const auto blocks = static_cast<double>(product(grid));
  if (next->batch > base->batch && grid[2] > 1) {
    grid[2] = std::llround(static_cast<double>(grid[2]) * next->batch / base->batch);
  } else if (t.persistent && blocks <= c.gpu.sm_count) {
    const double wanted = std::min<double>(c.gpu.sm_count, blocks * after / before);
    scale_largest(grid, wanted / blocks);
  } else {
    scale_largest(grid, after / before);
  }
}

void resize_reduction(const BatchChange& c, const BatchKernel& k, const OpTensors& target,
                      Grid& grid) {
  if (const auto sum = resized_sum(c, k, target)) grid[0] = sum->blocks, grid[1] = sum->parts;
}

LaunchGeometry checked(const LaunchGeometry& base, const Grid& grid, const BatchKernel& k) {
  constexpr Grid most{std::numeric_limits<std::int32_t>::max(), 65535, 65535};
  LaunchGeometry out = base;
  for (std::size_t i = 0; i < 3; ++i) {
    // Libraries fold what does not fit into y and z; x is the last resort.
    if (i == 0 && grid[i] > most[i]) {
      throw InputError("batch", std::string(k.op == nullptr ? "kernel" : k.op->name),
                       "a grid of " + std::to_string(grid[i]) + " blocks",
                       "a smaller batch: a grid has at most " + std::to_string(most[i]));
    }
    out.grid[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(grid[i], 1, most[i]));
  }
  return out;
}

}  // namespace

LaunchGeometry resize_geometry(const BatchChange& c, const BatchKernel& k, const OpTensors& target,
                               ScaleClass scale) {
  Grid grid{k.geometry.grid[0], k.geometry.grid[1], k.geometry.grid[2]};
  if (scale == ScaleClass::constant || product(grid) == 1) return k.geometry;
  const bool matrix = scale == ScaleClass::matrix;
  if (k.op == nullptr || !k.op->has_shapes()) {
    if (!is_capped(c, grid)) scale_largest(grid, c.ratio());
  } else if (matrix && k.kernel.traits.tile_m > 0) {
    resize_matrix(c, k, target, grid);
  } else if (scale == ScaleClass::norm) {
    return k.geometry;  // a block per channel
  } else if (scale == ScaleClass::reduction) {
    resize_reduction(c, k, target, grid);
  } else if (!resize_by_count(counts_of(*k.op, target), grid) && !is_capped(c, grid)) {
    scale_largest(grid, c.ratio());
  }
  return checked(k.geometry, grid, k);
}

}  // namespace tandem
