#include "validation/papers/tiled_matmul.h"

#include <algorithm>
#include <cmath>

#include "models/arch/occupancy.h"
#include "models/energy/power_limit.h"
#include "models/memory/cache_curve.h"

namespace tandem {

namespace {

constexpr double tile = 32;
constexpr double warps = 32;  // of a block
constexpr double word = 4;
constexpr double sector = 32;

// Of a warp and a step of one tile along k, as CUDA 13 compiles such a kernel for compute
// capability 8.0 (counted in the binary): 32 loads of one word of B a lane, and 8 of four words of
// A, the same for all lanes. Those take two wavefronts each: the 16-byte loads of FP32 library
// products, whose lanes share addresses, took 2.0 on an H200 (cutlass simt 128x256,
// captures/h200_2026-11-20_fit/ ops: 6.0 for the 3 loads that serve 64 multiplications).
constexpr double b_loads = tile;
constexpr double a_loads = tile / 4;
constexpr double read_wavefronts = b_loads + 2 * a_loads;
constexpr double read_words = b_loads + 4 * a_loads;  // that every lane gets
constexpr double store_wavefronts = 2;
constexpr double shared_instructions = b_loads + a_loads + store_wavefronts;
constexpr double global_loads = 2;
constexpr double loop_instructions = 8;  // addresses, two barriers, branch

/// Bytes from DRAM: blocks run in rows of the result, so each round of resident blocks passes over
/// all of B, and finds it in L2 as far as it stays there.
double dram_bytes(const GpuArch& gpu, double size) {
  const double matrix = size * size * word;
  LaunchGeometry geometry;
  geometry.block = {static_cast<std::uint32_t>(tile), static_cast<std::uint32_t>(tile), 1};
  geometry.registers_per_thread = 32;
  geometry.shared_bytes = static_cast<std::uint32_t>(2 * tile * tile * word);
  const double resident = gpu.sm_count * occupancy(gpu, geometry).blocks_per_sm;
  const double rounds = std::max(1.0, (size / tile) * (size / tile) / resident);
  const double strip = std::min(matrix, resident * tile * tile * word);  // of C, as much of A
  const CacheShape l2{cache_knees(gpu).l2_all_sms};
  const double missing = cyclic_miss_share(l2, matrix + 2 * strip);
  return 2 * matrix + matrix * (1 + (rounds - 1) * missing);
}

}  // namespace

TiledMatmul tiled_matmul(const GpuArch& gpu, double size) {
  const double blocks = (size / tile) * (size / tile), steps = size / tile;
  const double warp_steps = blocks * steps * warps;
  const double results = size * size;
  TiledMatmul m;
  m.flop = 2 * results * size;
  m.shared_wavefronts = warp_steps * (read_wavefronts + store_wavefronts);
  m.other_instructions = warp_steps * (shared_instructions + global_loads + loop_instructions);
  // No tile is loaded twice by a block: L1 serves nothing.
  m.l1_sectors = (warp_steps * global_loads * 32 + results) * word / sector;
  m.l2_sectors = m.l1_sectors;
  m.dram_sectors = std::min(dram_bytes(gpu, size) / sector, m.l2_sectors);
  // Shared memory and L1 deliver words to the registers of a warp through one port;
  // multiplications and issue need less than half of its cycles.
  const double words = read_words + store_wavefronts + global_loads;
  const double block_cycles = steps * warps * words * 32 * word / gpu.l1_bytes_per_clk;
  m.busy_sm_cycles = std::ceil(blocks / gpu.sm_count) * block_cycles;
  m.time_us = m.busy_sm_cycles / gpu.boost_clock_mhz;
  return m;
}

MatmulEnergy matmul_energy(const GpuArch& gpu, const TraceEnergyModel& model,
                           const AccessEnergies& access, double size, const LockedClock& clock) {
  const TiledMatmul m = tiled_matmul(gpu, size);
  const double blocks = (size / tile) * (size / tile);
  EnergyWork work;
  work.duration_us = m.time_us;
  work.sm_active_us =
      m.time_us * blocks / std::ceil(blocks / gpu.sm_count);  // SMs, mean over the time
  work.dram_bytes = m.dram_sectors * sector;
  work.fp32_flop = m.flop;
  work.instructions = m.other_instructions;
  const PowerDemand demand = power_demand(model, work, true);
  MatmulEnergy e;
  e.time_us = demand.sm_us / clock.share;
  e.static_j = clock.static_w * e.time_us * 1e-6;
  e.total_j = e.static_j + demand.sm_j * clock.energy.factor(clock.share) + demand.memory_j;
  e.movement = data_movement_lower_bound(
      access, accesses_served(m.l1_sectors, m.l2_sectors, m.dram_sectors, m.shared_wavefronts));
  return e;
}

}  // namespace tandem
