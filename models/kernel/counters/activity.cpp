// How long SM sub-partitions hold warps: from the grid, the occupancy and the duration.
#include <algorithm>
#include <cmath>

#include "models/kernel/counters/cost_model.h"
#include "models/kernel/counters/cost_terms.h"

namespace tandem {
namespace {

// Share of an SM's sub-partitions that hold a warp while it runs `blocks` blocks.
double partitions_used(const GpuArch& gpu, double blocks, int warps) {
  return std::min<double>(gpu.smsp_per_sm, blocks * warps) / gpu.smsp_per_sm;
}

// Blocks that loop over tiles: the last round is as long as the others, however few tiles it has,
// and blocks without a tile leave at once. Kernels that also split k even this out.
double persistent_share(const CostInput& in) {
  const double tiles = in.features.tiles;
  const double blocks = static_cast<double>(blocks_of(in.launch.geometry));
  const double rounds = std::ceil(tiles / blocks);
  return std::min(1.0, tiles / rounds / in.gpu.sm_count);
}

bool loops_over_tiles(const CostInput& in) {
  const KernelTraits& t = in.launch.traits;
  return t.persistent && !t.split_k && in.features.tiles > 0 &&
         in.launch.family != KernelFamily::attention &&
         blocks_of(in.launch.geometry) <= in.gpu.sm_count;
}

}  // namespace

// Whole waves keep all SMs busy. In the last one, blocks are spread breadth-first and those that
// share an SM take longer, the more so the less the kernel waits for memory.
double resident_share(const CostInput& in) {
  if (loops_over_tiles(in)) return persistent_share(in);
  const GpuArch& gpu = in.gpu;
  const double blocks = static_cast<double>(blocks_of(in.launch.geometry));
  const double resident = std::max(1, in.occupancy.blocks_per_sm);
  const int warps = warps_per_block(in.launch.geometry);
  const GeneralCosts& general = in.constants.general();
  const double power = is_matrix(in) ? 1.0 : general.residency_power;
  const double full = std::floor(blocks / (gpu.sm_count * resident));
  const double rest = blocks - full * gpu.sm_count * resident;
  const double low = std::floor(rest / gpu.sm_count);
  const double more = rest - low * gpu.sm_count;  // SMs with one block more
  const double low_life = std::pow(low, power), high_life = std::pow(low + 1, power);
  const double longest = more > 0 ? high_life : low_life;
  const double wave_life = full * std::pow(resident, power);
  const double busy = wave_life * partitions_used(gpu, resident, warps) +
                      ((gpu.sm_count - more) * low_life * partitions_used(gpu, low, warps) +
                       more * high_life * partitions_used(gpu, low + 1, warps)) /
                          gpu.sm_count;
  const double share = wave_life + longest > 0 ? busy / (wave_life + longest) : 0;
  if (blocks < gpu.sm_count) return share;
  return share * (1 - general.tail_loss / std::max(1.0, full));
}

BlockPace block_pace(const GpuArch& gpu, const KernelLaunch& launch,
                     const CostConstants& constants) {
  const CostInput in = make_input(gpu, launch, constants);
  const GeneralCosts& general = constants.general();
  const bool matrix = is_matrix(in);
  BlockPace pace;
  pace.launch_cycles = general.launch_cycles;
  pace.minimum_cycles = general.minimum_active_cycles;
  pace.start_cycles = general.block_start_cycles;
  pace.residency_power = matrix ? 1.0 : general.residency_power;
  if (loops_over_tiles(in)) pace.tiles = in.features.tiles;
  const Waves w = waves(gpu, launch.geometry, in.occupancy);
  const bool one_an_sm = w.blocks <= gpu.sm_count;
  // SMs whose speeds are spread evenly idle in one wave for half of what the slowest takes longer.
  if (!one_an_sm && pace.tiles == 0) pace.slower = 2 * general.tail_loss;
  // The first block of a slot finds it empty, the others wait until the slowest warp has left.
  // Matrix kernels hold their warps to the end.
  if (!matrix && w.count > 1) {
    pace.warp_share = 1 - (1 - general.refill_share) * (1 - 1 / w.count);
  }
  return pace;
}

}  // namespace tandem
