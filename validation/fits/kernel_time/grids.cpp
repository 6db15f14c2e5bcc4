// How well the model's choice of kernels agrees with the kernels that the tables name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/error.h"
#include "validation/fits/kernel_time/score.h"

namespace tandem::kernel_time {
namespace {

std::int64_t blocks(const MeasuredKernel& kernel) {
  return kernel.grid[0] * kernel.grid[1] * kernel.grid[2];
}

// Products: the grid for the tile that ran. z is the batch times the parts of k.
void score_product(const GpuArch& gpu, const MeasuredOp& row, const TimeConstants& constants,
                   GridScore& out) {
  GemmShape shape = std::get<GemmShape>(row.shape);
  const KernelTime chosen = gemm_time(gpu, shape, constants);
  const bool right = chosen.tile_m == row.kernel.tile_m && chosen.tile_n == row.kernel.tile_n;
  out.algorithms += 1;
  out.kernels += right;
  shape.tile_m = row.kernel.tile_m, shape.tile_n = row.kernel.tile_n;
  const KernelTime told = gemm_time(gpu, shape, constants);
  if (told.tile_m != shape.tile_m || told.tile_n != shape.tile_n) return;
  const auto& grid = row.kernel.grid;
  out.grid_rows += 1;
  out.grids += told.grid_x == grid[0] && told.grid_y == grid[1] && grid[2] % shape.batch == 0;
}

// Convolutions: the number of blocks, where algorithm and tile are right.
void score_convolution(const GpuArch& gpu, const MeasuredOp& row, const TimeConstants& constants,
                       GridScore& out) {
  const KernelTime chosen = conv_time(gpu, std::get<ConvLayer>(row.shape), constants);
  if (chosen.algorithm != row.kernel.algorithm) return;
  out.algorithms += 1;
  if (chosen.tile_m != row.kernel.tile_m || chosen.tile_n != row.kernel.tile_n) return;
  out.kernels += 1;
  out.grid_rows += 1;
  out.grids += chosen.grid_x * chosen.grid_y * chosen.grid_z == blocks(row.kernel);
}

bool known_gpu(const GpuCatalogue& catalogue, const std::string& name) {
  try {
    find_gpu(catalogue, name);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::vector<GridScore> score_grids(const std::vector<MeasuredTable>& tables,
                                   const GpuCatalogue& catalogue, const TimeConstants& constants) {
  std::map<std::pair<std::string, std::string>, GridScore> scores;
  for (const MeasuredTable& table : tables) {
    const GpuArch& gpu = find_gpu(catalogue, table.gpu);
    for (const MeasuredOp& row : table.rows) {
      if (!row.kernel.known) continue;
      GridScore& score = scores[{table.type, gpu.name}];
      score.type = table.type;
      score.gpu = gpu.name;
      score.rows += 1;
      if (std::holds_alternative<GemmShape>(row.shape)) {
        score_product(gpu, row, constants, score);
      } else {
        score_convolution(gpu, row, constants, score);
      }
    }
  }
  std::vector<GridScore> out;
  out.reserve(scores.size());
  for (auto& [key, score] : scores) out.push_back(std::move(score));
  return out;
}

std::vector<std::string> drop_unknown(std::vector<MeasuredTable>& tables,
                                      const GpuCatalogue& catalogue) {
  std::vector<std::string> notes;
  std::erase_if(tables, [&](const MeasuredTable& table) {
    const bool modelled = !table.type.empty();
    if (modelled && known_gpu(catalogue, table.gpu)) return false;
    notes.push_back(
        fmt::format("skipped: {} rows of {} on {}: {}", table.rows.size(), table.file, table.gpu,
                    modelled ? "no config for this GPU" : "no model of " + table.rows.front().op));
    return true;
  });
  return notes;
}

}  // namespace tandem::kernel_time
