// Where and when the blocks of one kernel run: placement over SMs and sub-partitions, waves, tail.
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/arch/occupancy.h"

namespace tandem {

/// One block on one SM. Times from the kernel's begin.
struct BlockRun {
  std::uint32_t block = 0;  // linear index, x fastest
  std::uint16_t sm = 0;
  std::uint16_t slot = 0;  // of the SM, 0 .. blocks_per_sm - 1
  double begin_us = 0;
  double end_us = 0;
};

struct BlockSchedule {
  Occupancy occupancy;
  Waves waves;
  double block_us = 0;               // life of a block
  double duration_us = 0;            // of the kernel
  std::vector<BlockRun> blocks;      // by begin
  std::vector<double> sm_active_us;  // per SM: a block resident
  double sm_active_share = 0;        // mean over SMs, of the duration
  double smsp_active_share = 0;      // mean over sub-partitions: a warp resident
  double achieved_occupancy = 0;     // warps resident / maximum, while the SM is active
};

/// Blocks are handed out in order, one per `dispatch_cycles` on the whole device, each to the SM
/// with the most free slots (breadth first); its warps go round robin over the sub-partitions. All
/// blocks live equally long: as long as makes the last one end with the kernel.
/// Errors: InputError for a launch that the GPU would refuse, and for a grid of more than
/// `most_blocks`: block by block it would only fill memory (waves() is closed-form).
BlockSchedule schedule_blocks(const GpuArch& gpu, const LaunchGeometry& geometry,
                              double duration_us, double dispatch_cycles = 1.0,
                              std::int64_t most_blocks = 1'000'000);

}  // namespace tandem
