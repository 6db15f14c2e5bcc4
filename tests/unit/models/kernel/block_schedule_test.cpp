// Placement of blocks, on a GPU whose numbers can be worked out by hand.
#include "models/kernel/counters/block_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/arch/gpu_config.h"
#include "sim/core/error.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// Ten SMs of two blocks of 1024 threads each, 1000 MHz.
GpuArch ten_sms() {
  GpuArch gpu = load_gpu(source_path("configs/gpus/h200_sxm.json"));
  apply_overrides(gpu, std::vector<std::string>{"gpu.sm_count=10", "gpu.boost_clock_mhz=1000",
                                                "gpu.gpc_count=1", "gpu.tpc_count=5",
                                                "gpu.cluster_group_sms=[10]"});
  return gpu;
}

LaunchGeometry grid(std::uint32_t blocks, std::uint32_t threads = 1024) {
  return {{blocks, 1, 1}, {threads, 1, 1}, 16, 0};
}

const BlockPace no_dispatch;
const BlockPace one_a_cycle{.start_cycles = 1};

TEST(BlockSchedule, FillsBreadthFirst) {
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(10), 8, no_dispatch);
  ASSERT_EQ(s.blocks.size(), 10U);
  std::set<int> sms;
  for (const BlockRun& b : s.blocks) {
    sms.insert(b.sm);
    EXPECT_EQ(b.slot, 0);
    EXPECT_NEAR(b.end_us, 8, 1e-4);
  }
  EXPECT_EQ(sms.size(), 10U);
  EXPECT_NEAR(s.sm_active_share, 1, 1e-4);
  EXPECT_NEAR(s.achieved_occupancy, 0.5, 1e-4);  // 32 of 64 warps
}

TEST(BlockSchedule, TheTailLeavesSmsIdle) {
  // Two per SM: 20 in a wave. 25 blocks are one wave and 5 more; a block lives half of the time.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(25), 8, no_dispatch);
  EXPECT_NEAR(s.block_us, 4, 1e-4);
  EXPECT_EQ(s.waves.full, 1);
  EXPECT_EQ(s.waves.tail_blocks, 5);
  EXPECT_DOUBLE_EQ(s.waves.count, 1.25);
  // All ten for 4, then five for 4: 60 of 80.
  EXPECT_NEAR(s.sm_active_share, 0.75, 1e-4);
  EXPECT_NEAR(s.smsp_active_share, 0.75, 1e-4);
}

TEST(BlockSchedule, FewWarpsLeaveSubPartitionsIdle) {
  // One block of 64 threads on one SM: two of four sub-partitions of one of ten SMs.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(1, 64), 8, no_dispatch);
  EXPECT_NEAR(s.sm_active_share, 0.1, 1e-4);
  EXPECT_NEAR(s.smsp_active_share, 0.05, 1e-4);
}

TEST(BlockSchedule, HandingOutBlocksTakesTime) {
  // One block a cycle at 1000 MHz: the tenth begins after 9 ns, and they all end by 8 us.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(10), 8, one_a_cycle);
  EXPECT_NEAR(s.blocks.back().begin_us, 0.009, 1e-9);
  EXPECT_NEAR(s.blocks.back().end_us, 8, 1e-4);
}

TEST(BlockSchedule, NoSlotHoldsTwoBlocksAtOnce) {
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(173, 256), 20, one_a_cycle);
  std::map<std::pair<int, int>, double> free_at;
  ASSERT_EQ(s.blocks.size(), 173U);
  for (const BlockRun& b : s.blocks) {
    double& free = free_at[{b.sm, b.slot}];
    EXPECT_GE(b.begin_us, free - 1e-9);
    free = b.end_us;
    EXPECT_LT(b.slot, s.occupancy.blocks_per_sm);
    EXPECT_LE(b.end_us, 20 + 1e-9);
  }
}

TEST(BlockSchedule, StartAndEndOfTheLaunchHoldNoBlock) {
  // 2000 of 8000 cycles: one us before and one after. 6 of 8 us are active.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(10), 8, {.launch_cycles = 2000});
  for (const BlockRun& b : s.blocks) {
    EXPECT_NEAR(b.begin_us, 1, 1e-4);
    EXPECT_NEAR(b.end_us, 7, 1e-4);
  }
  EXPECT_NEAR(s.sm_active_share, 0.75, 1e-4);
  EXPECT_NEAR(s.achieved_occupancy, 0.5, 1e-4);  // while the SM is active
  // All of a kernel of 2 us would be its launch: the least that blocks take remains.
  const BlockSchedule tiny =
      schedule_blocks(ten_sms(), grid(10), 2, {.launch_cycles = 2000, .minimum_cycles = 300});
  EXPECT_NEAR(tiny.sm_active_share, 0.15, 1e-4);
}

TEST(BlockSchedule, BlocksThatShareAnSmTakeLonger) {
  // 30 blocks: a wave of 20 whose blocks share, then 10 alone, twice as fast: 16/3 and 8/3 us.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(30), 8, {.residency_power = 1});
  EXPECT_NEAR(s.blocks.front().end_us, 16.0 / 3, 1e-3);
  EXPECT_NEAR(s.blocks.back().end_us - s.blocks.back().begin_us, 8.0 / 3, 1e-3);
  EXPECT_NEAR(s.sm_active_share, 1, 1e-4);
  // Two blocks for two thirds of the time, one for a third: (2 x 2 + 1) / 3 of 32 of 64 warps.
  EXPECT_NEAR(s.achieved_occupancy, 5.0 / 6, 1e-4);
}

TEST(BlockSchedule, SlowSmsEndLast) {
  // Fractions of multiples of the golden ratio: .618 .236 .854 .472 .090 .708 .326 .944 .562 .180.
  // Lives are as 1 + 0.06 x: the longest 1.0567, the mean 1.0299.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(10), 8, {.slower = 0.06});
  EXPECT_NEAR(s.sm_active_share, 1.0299 / 1.0567, 1e-3);
}

TEST(BlockSchedule, BlocksLoopOverTiles) {
  // 25 tiles for 10 blocks: five of three and five of two.
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(10), 9, {.tiles = 25});
  EXPECT_EQ(std::count_if(s.blocks.begin(), s.blocks.end(),
                          [](const BlockRun& b) { return b.end_us > 8.9; }),
            5);
  EXPECT_NEAR(s.sm_active_share, 25.0 / 30, 1e-4);
}

TEST(BlockSchedule, WarpsThatLeaveBeforeTheirBlock) {
  const BlockSchedule s = schedule_blocks(ten_sms(), grid(40), 8, {.warp_share = 0.9});
  EXPECT_NEAR(s.sm_active_share, 1, 1e-4);
  EXPECT_NEAR(s.achieved_occupancy, 0.9, 1e-4);
}

TEST(BlockSchedule, Errors) {
  EXPECT_THROW(schedule_blocks(ten_sms(), grid(2'000'000), 8), InputError);
  LaunchGeometry heavy = grid(1);
  heavy.registers_per_thread = 255;  // 1024 x 255 registers: more than an SM has
  EXPECT_THROW(schedule_blocks(ten_sms(), heavy, 8), InputError);
}

}  // namespace
}  // namespace tandem
