// The tiny-launch model against sums worked by hand, and its constants.
#include "models/kernel/tiny_launch/tiny_launch.h"

#include <gtest/gtest.h>

#include "models/arch/gpu_config.h"
#include "sim/core/error.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string gpus = source_path("configs/gpus/");
const std::string launch_constants = source_path("configs/kernels/tiny_launch.json");

// 100 SMs of 64 warps and 32 blocks, 1000 cycles a microsecond.
GpuArch round_gpu() {
  GpuArch gpu = load_gpu(std::string(gpus) + "a100_sxm4_40gb.json");
  gpu.sm_count = 100;
  gpu.boost_clock_mhz = 1000;
  return gpu;
}

TinyConstants round_constants() {
  TinyConstants c;
  c.host_period_us = 2;
  c.gap_us = 1;
  c.spread_us = 0.5;
  c.device_block_cycles = 2;
  c.sm_block_cycles = 50;  // 0.5 for the device
  c.cold_life_cycles = 1000;
  c.warm_life_cycles = 100;  // 1 for the device
  c.request_rate = 0.5;      // 2 cycles a store
  c.queue_stores = 100;      // 10000 for the device
  c.merge_lines = 16;
  c.stall_fill = 0.5;
  return c;
}

LaunchGeometry square(std::uint32_t blocks, std::uint32_t threads) {
  LaunchGeometry geometry;
  geometry.grid = {blocks, 1, 1};
  geometry.block = {threads, 1, 1};
  return geometry;
}

TinyLaunchCost run(std::uint32_t blocks, std::uint32_t threads, StoreTarget stores,
                   const TinyConstants& constants = round_constants()) {
  return back_to_back(round_gpu(), square(blocks, threads), stores, constants);
}

TEST(TinyLaunch, HostLimitsOneBlock) {
  TinyConstants c = round_constants();
  c.host_period_us = 4;
  const TinyLaunchCost cost = run(1, 32, StoreTarget::same_lines, c);
  // Gap 1 + spread 0.5 / 100 + cold life 1 us.
  EXPECT_NEAR(cost.engine_us, 2.005, 1e-12);
  EXPECT_DOUBLE_EQ(cost.period_us, 4);
  EXPECT_NEAR(cost.gract, 2.005 / 4, 1e-12);
  EXPECT_NEAR(cost.smact, 1000.0 / 4000 / 100, 1e-12);       // one SM of 100
  EXPECT_NEAR(cost.smocc, 1000.0 / 4000 / 100 / 64, 1e-12);  // one warp of 64
}

TEST(TinyLaunch, DeviceStartsBlocksAtALimitedRate) {
  // 10000 x 2 cycles = 20 us, gap and spread 1.5. Active: the first wave of 3200 starts in 0.5 x
  // 3200 and lives 100 more; each later block adds its life on one SM of 100: 1700 + 6800.
  const TinyLaunchCost cost = run(10000, 32, StoreTarget::own_lines);
  EXPECT_NEAR(cost.period_us, 21.5, 1e-12);
  EXPECT_NEAR(cost.sm_active_cycles, 8500, 1e-9);
  // (3200 x 1000 + 6800 x 100) warp cycles on 100 SMs.
  EXPECT_NEAR(cost.warp_active_cycles, 38800, 1e-9);
  EXPECT_NEAR(cost.smocc, 38800 / (64 * 21500.0), 1e-12);
}

TEST(TinyLaunch, BlocksInBurstsAddOnlyTheirStart) {
  TinyConstants c = round_constants();
  c.overlap = 1;  // 1700 + 6800 x 0.5
  EXPECT_NEAR(run(10000, 32, StoreTarget::own_lines, c).sm_active_cycles, 5100, 1e-9);
}

TEST(TinyLaunch, WarpsOfAnSmLimitLargeBlocks) {
  TinyConstants c = round_constants();
  c.sm_warp_cycles = 10;  // 32 warps: 320 a block of an SM, 3.2 for the device
  const TinyLaunchCost cost = run(1000, 1024, StoreTarget::own_lines, c);
  EXPECT_NEAR(cost.sm_active_cycles, 1000 + 800 * 3.2, 1e-9);  // first wave 200: 1000, cold
  EXPECT_NEAR(cost.engine_us, 1.5 + 3.56, 1e-12);
}

TEST(TinyLaunch, StoresOutliveTheLastBlock) {
  // 1000 blocks of 4 lines: 4000 stores x 2 cycles, though all blocks are gone after 1000.
  const TinyLaunchCost cost = run(1000, 128, StoreTarget::same_lines);
  EXPECT_NEAR(cost.period_us, 1.5 + 8, 1e-12);
  EXPECT_NEAR(cost.smact, 1000 / 9500.0, 1e-12);
  EXPECT_NEAR(run(1000, 128, StoreTarget::own_lines).period_us, 1.5 + 2, 1e-12);
}

TEST(TinyLaunch, FirstWaveOfAnSmStoresAsOneBlock) {
  TinyConstants c = round_constants();
  c.first_merge_lines = 4;  // 100 x 4 stores x 2 = 800 cycles, less than 1000 blocks x 2
  EXPECT_NEAR(run(1000, 128, StoreTarget::same_lines, c).period_us, 1.5 + 2, 1e-12);
}

TEST(TinyLaunch, FullQueueMergesAndHoldsBlocksBack) {
  // The queue is full after 2500 blocks; the other 17500 come at 2 cycles: 10000 x 2 + 35000. SMs
  // are active for 35000 and full of waiting blocks once that lasted 20000, for 7500 blocks.
  const TinyLaunchCost cost = run(20000, 128, StoreTarget::same_lines);
  EXPECT_NEAR(cost.period_us, 1.5 + 55, 1e-12);
  EXPECT_NEAR(cost.sm_active_cycles, 35000, 1e-9);
  // (1600 x 1000 + 10900 x 100) x 4 warps / 100 SMs + 15000 x 0.5 x 64.
  EXPECT_NEAR(cost.warp_active_cycles, 107600 + 480000, 1e-6);
}

TEST(TinyLaunch, PartLinesDoNotHoldBlocksBack) {
  // Full after 10000 blocks: 10000 x 2 + 10000 x 2. Active as without stores: 1700 + 16800.
  const TinyLaunchCost cost = run(20000, 8, StoreTarget::same_lines);
  EXPECT_NEAR(cost.period_us, 1.5 + 40, 1e-12);
  EXPECT_NEAR(cost.sm_active_cycles, 18500, 1e-9);
}

TEST(TinyLaunch, TooManyLinesNeverMerge) {
  // 320000 stores x 2 = 640000 cycles; the last 10000 of them drain after the last block, except
  // for its cold life. Two blocks an SM, half of one gone on average.
  const TinyLaunchCost cost = run(10000, 1024, StoreTarget::same_lines);
  EXPECT_NEAR(cost.period_us, 641.5, 1e-9);
  EXPECT_NEAR(cost.sm_active_cycles, 621000, 1e-6);
  // 200 x 1000 x 32 / 100 + 620000 x 0.75 x 64.
  EXPECT_NEAR(cost.warp_active_cycles, 64000 + 29760000, 1e-3);
}

TEST(TinyLaunch, RefusesABlockThatNoSmHolds) {
  EXPECT_THROW(run(1, 1056, StoreTarget::own_lines), InputError);
}

TEST(TinyLaunch, RatiosStayBelowOneAndMoreBlocksTakeLonger) {
  for (const char* name : {"a100_sxm4_40gb", "h200_sxm"}) {
    const GpuArch gpu = load_gpu(std::string(gpus) + name + ".json");
    const TinyConstants c = load_tiny_constants(launch_constants, name);
    for (const StoreTarget stores : {StoreTarget::own_lines, StoreTarget::same_lines}) {
      for (std::uint32_t threads = 1; threads <= 1024; threads *= 2) {
        double last = 0;
        for (std::uint32_t blocks = 1; blocks <= 1U << 17; blocks *= 2) {
          const TinyLaunchCost cost = back_to_back(gpu, square(blocks, threads), stores, c);
          EXPECT_GE(cost.period_us, last) << name << " " << blocks << " x " << threads;
          EXPECT_LE(cost.smact, 1.0) << name << " " << blocks << " x " << threads;
          EXPECT_LE(cost.smocc, cost.smact) << name << " " << blocks << " x " << threads;
          EXPECT_LE(cost.gract, 1.0);
          last = cost.period_us;
        }
      }
    }
  }
}

TEST(TinyLaunch, EveryConstantHasASource) {
  for (const char* name : {"a100_sxm4_40gb", "h200_sxm"}) {
    const TinyConstants c = load_tiny_constants(launch_constants, name);
    EXPECT_EQ(c.origins.size(), 18U);
    for (const Provenance& origin : c.origins) EXPECT_FALSE(origin.source.empty());
  }
}

TEST(TinyLaunch, UnknownGpuListsTheKnown) {
  try {
    load_tiny_constants(launch_constants, "none");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("a100_sxm4_40gb, h200_sxm"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tandem
