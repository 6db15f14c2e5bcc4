// How many blocks of a launch an SM holds, and what limits it: CUDA's occupancy rules.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "models/arch/gpu_arch.h"

namespace tandem {

/// What the launch geometry does not say.
struct OccupancyOptions {
  /// Share of the largest carve-out the function prefers as shared memory (cudaFuncAttribute
  /// PreferredSharedMemoryCarveout), 0..100; -1: no preference, which allows the largest.
  int carveout_percent = -1;
  /// Blocks may use more than shared_block_bytes. True for whatever a trace shows to have run.
  bool shared_opt_in = true;
  int barriers_per_block = 1;
  int cluster_blocks = 1;
};

/// A resource that allows no more blocks. Values are bits of Occupancy::limiters.
enum class Limiter : std::uint8_t {
  warps = 1,
  registers = 2,
  shared = 4,
  blocks = 8,
  barriers = 16,
  cluster = 32,  // the cluster is larger than the GPU allows
};

constexpr int no_limit = std::numeric_limits<int>::max();

struct Occupancy {
  int blocks_per_sm = 0;  // 0: the launch would fail
  int warps_per_block = 0;
  int active_warps = 0;     // of an SM
  double theoretical = 0;   // active_warps / max_warps_per_sm, 0..1
  int limit_warps = 0;      // blocks that each resource alone would allow
  int limit_registers = 0;  // no_limit: not used
  int limit_shared = 0;     // no_limit: not used
  int limit_blocks = 0;
  int limit_barriers = 0;                   // no_limit: not used
  std::uint8_t limiters = 0;                // Limiter bits of all resources at the minimum
  std::int64_t shared_allocated_bytes = 0;  // of a block, with the driver's share and rounding
  std::int64_t carveout_bytes = 0;          // shared memory of the SM that limit_shared is for

  bool limited_by(Limiter limiter) const {
    return (limiters & static_cast<std::uint8_t>(limiter)) != 0;
  }
};

/// Occupancy of a launch; the rules of cuda_occupancy.h. Pure, allocates nothing, never fails: a
/// launch that the GPU would refuse has 0 blocks.
Occupancy occupancy(const GpuArch& gpu, const LaunchGeometry& launch,
                    const OccupancyOptions& options = {});

/// Texts of the limiters, e.g. "registers, shared".
std::string limiter_names(const Occupancy& occupancy);

/// Clusters the GPU can hold at once: a cluster stays within one group of SMs and needs a group
/// with as many SMs as it has blocks. Agrees with cudaOccupancyMaxActiveClusters for all sizes 1 to
/// 16 and 1 to 8 blocks an SM on the board that cluster_group_sms was read from; other boards
/// differ.
int max_active_clusters(const GpuArch& gpu, const Occupancy& occupancy, int cluster_blocks);

/// The grid as rounds of blocks that fill the GPU.
struct Waves {
  std::int64_t blocks = 0;           // of the grid
  std::int64_t blocks_per_wave = 0;  // 0: the launch would fail
  std::int64_t full = 0;             // complete waves
  std::int64_t tail_blocks = 0;      // blocks of the last, partial wave; 0: none
  double count = 0;                  // blocks / blocks_per_wave, as Nsight Compute counts them
};
Waves waves(const GpuArch& gpu, const LaunchGeometry& launch, const Occupancy& occupancy);

/// Shared memory that the driver sets an SM to when the function states no preference, bytes; the
/// rest of unified_l1_bytes is L1. Empirical: 2204 of 2255 H200 kernels under Nsight Compute (some
/// of the others state a preference); unverified on other GPUs.
std::int64_t driver_carveout_bytes(const GpuArch& gpu, const LaunchGeometry& launch,
                                   const Occupancy& occupancy);

}  // namespace tandem
