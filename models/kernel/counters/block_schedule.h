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

/// How the blocks of one kernel start, live and end; block_pace() takes it from the counter model.
/// As it stands, all blocks are there at once and live equally long, for the whole duration.
struct BlockPace {
  double launch_cycles = 0;    // of the duration while no block is resident
  double minimum_cycles = 0;   // blocks are resident at least so long
  double start_cycles = 0;     // from a block's start to the next one's, on the whole device
  double residency_power = 0;  // a block's life grows with this power of the blocks on its SM
  double slower = 0;           // the slowest SM takes so much longer than the fastest, relative
  double warp_share = 1;       // life of a warp over that of its block, in the mean
  double tiles = 0;            // that the blocks share out and loop over; 0: no such loop
};

struct BlockSchedule {
  Occupancy occupancy;
  Waves waves;
  double block_us = 0;               // life of a block, in the mean
  double duration_us = 0;            // of the kernel
  std::vector<BlockRun> blocks;      // by begin
  std::vector<double> sm_active_us;  // per SM: a block resident
  double sm_active_share = 0;        // mean over SMs, of the duration
  double smsp_active_share = 0;      // mean over sub-partitions: a warp resident
  double achieved_occupancy = 0;     // warps resident / maximum, while the SM is active
};

/// Blocks are handed out in order, each to the SM with the most free slots (breadth first); its
/// warps go round robin over the sub-partitions. Blocks have equal work (`pace.tiles`: as many
/// tiles as fall to them), as much as makes the last one end when the pace says. The part of the
/// launch before the first block is not known apart from that after the last: half of it is either.
/// Errors: InputError for a launch that the GPU would refuse, and for a grid of more than
/// `most_blocks`: block by block it would only fill memory (waves() is closed-form).
BlockSchedule schedule_blocks(const GpuArch& gpu, const LaunchGeometry& geometry,
                              double duration_us, const BlockPace& pace = {},
                              std::int64_t most_blocks = 1'000'000);

}  // namespace tandem
