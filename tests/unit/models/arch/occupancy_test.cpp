// Occupancy against sums worked by hand from the rules of cuda_occupancy.h.
#include "models/arch/occupancy.h"

#include <gtest/gtest.h>

#include "models/arch/gpu_config.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string gpu_folder = source_path("configs/gpus/");

GpuArch v100() { return load_gpu(std::string(gpu_folder) + "v100_sxm2_16gb.json"); }
GpuArch a100() { return load_gpu(std::string(gpu_folder) + "a100_sxm4_40gb.json"); }
GpuArch h200() { return load_gpu(std::string(gpu_folder) + "h200_sxm.json"); }

LaunchGeometry launch(std::uint32_t threads, std::uint32_t registers, std::uint32_t shared,
                      std::uint32_t blocks = 1) {
  LaunchGeometry geometry;
  geometry.grid = {blocks, 1, 1};
  geometry.block = {threads, 1, 1};
  geometry.registers_per_thread = registers;
  geometry.shared_bytes = shared;
  return geometry;
}

TEST(Occupancy, FullWithoutSharedMemory) {
  // 4 warps a block. Registers: 32 x 32 = 1024 a warp, 16384 / 1024 = 16 warps an SMSP, 64 an SM,
  // 16 blocks. Warps: 64 / 4 = 16. Shared: 1024 of the driver, 233472 / 1024 = 228.
  const Occupancy o = occupancy(h200(), launch(128, 32, 0));
  EXPECT_EQ(o.blocks_per_sm, 16);
  EXPECT_EQ(o.active_warps, 64);
  EXPECT_DOUBLE_EQ(o.theoretical, 1.0);
  EXPECT_EQ(o.limit_registers, 16);
  EXPECT_EQ(o.limit_shared, 228);
  EXPECT_EQ(o.limit_blocks, 32);
  EXPECT_EQ(limiter_names(o), "warps, registers");
}

TEST(Occupancy, RegistersAreCountedPerSubPartition) {
  // 80 x 32 = 2560 registers a warp. 16384 / 2560 = 6 warps an SMSP, 24 an SM; 5 warps a block: 4
  // blocks. Counted over the whole SM it would be 65536 / 2560 = 25 warps, 5 blocks.
  EXPECT_EQ(occupancy(v100(), launch(160, 80, 0)).blocks_per_sm, 4);
}

TEST(Occupancy, RegistersRoundUpTo256AWarp) {
  // 33 x 32 = 1056, rounded up to 1280: 16384 / 1280 = 12 warps, 48 an SM, 12 blocks of 4 warps.
  EXPECT_EQ(occupancy(a100(), launch(128, 33, 0)).limit_registers, 12);
}

TEST(Occupancy, LaunchCheckRoundsTheBlockUpToAllSubPartitions) {
  // 120 x 32 = 3840 a warp; 17 warps use 65280 of 65536, but the check counts 20 warps: 76800.
  const Occupancy o = occupancy(h200(), launch(544, 120, 0));
  EXPECT_EQ(o.blocks_per_sm, 0);
  EXPECT_EQ(limiter_names(o), "registers");
  EXPECT_EQ(occupancy(h200(), launch(512, 120, 0)).blocks_per_sm, 1);  // 16 x 3840 = 61440
}

TEST(Occupancy, RegisterCountsAtTheEnds) {
  EXPECT_EQ(occupancy(h200(), launch(32, 0, 0)).limit_registers, no_limit);
  // 255 x 32 = 8160, rounded up to 8192: 2 warps an SMSP, 8 an SM.
  EXPECT_EQ(occupancy(h200(), launch(32, 255, 0)).limit_registers, 8);
  EXPECT_EQ(occupancy(h200(), launch(32, 257, 0)).blocks_per_sm, 0);
}

TEST(Occupancy, SharedMemoryIncludesTheDriversShare) {
  // 49152 + 1024 = 50176, a multiple of 128. A100: 167936 / 50176 = 3; V100, no reserve:
  // 98304 / 49152 = 2.
  const Occupancy o = occupancy(a100(), launch(128, 32, 49152));
  EXPECT_EQ(o.shared_allocated_bytes, 50176);
  EXPECT_EQ(o.blocks_per_sm, 3);
  EXPECT_EQ(limiter_names(o), "shared");
  EXPECT_EQ(occupancy(v100(), launch(128, 32, 49152)).blocks_per_sm, 2);
}

TEST(Occupancy, SharedMemoryGranularity) {
  EXPECT_EQ(occupancy(v100(), launch(32, 16, 1)).shared_allocated_bytes, 256);
  EXPECT_EQ(occupancy(a100(), launch(32, 16, 1)).shared_allocated_bytes, 1152);  // 1025 -> 9 x 128
}

TEST(Occupancy, LargestBlocks) {
  // 227 KiB fill an SM; one byte more is refused. Without opt-in 48 KiB is the end.
  EXPECT_EQ(occupancy(h200(), launch(384, 168, 232448)).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(h200(), launch(384, 168, 232449)).blocks_per_sm, 0);
  OccupancyOptions no_opt_in;
  no_opt_in.shared_opt_in = false;
  EXPECT_EQ(occupancy(h200(), launch(128, 32, 49152), no_opt_in).blocks_per_sm, 4);
  EXPECT_EQ(occupancy(h200(), launch(128, 32, 49153), no_opt_in).blocks_per_sm, 0);
}

TEST(Occupancy, CarveoutPreference) {
  // V100: 50 % of 96 KiB = 48 KiB, next size 64 KiB; 20000 B round up to 20224: 3 blocks.
  OccupancyOptions options;
  options.carveout_percent = 50;
  const Occupancy half = occupancy(v100(), launch(128, 32, 20000), options);
  EXPECT_EQ(half.carveout_bytes, 65536);
  EXPECT_EQ(half.blocks_per_sm, 3);
  // 10 % = 9830 B, 16 KiB: too small for one block, so the smallest that holds it: 32 KiB.
  options.carveout_percent = 10;
  const Occupancy small = occupancy(v100(), launch(128, 32, 20000), options);
  EXPECT_EQ(small.carveout_bytes, 32768);
  EXPECT_EQ(small.blocks_per_sm, 1);
}

TEST(Occupancy, BarriersCountFromComputeCapability9) {
  OccupancyOptions options;
  options.barriers_per_block = 16;
  EXPECT_EQ(occupancy(h200(), launch(32, 16, 0), options).blocks_per_sm, 4);  // 64 / 16
  EXPECT_EQ(limiter_names(occupancy(h200(), launch(32, 16, 0), options)), "barriers");
  EXPECT_EQ(occupancy(v100(), launch(32, 16, 0), options).blocks_per_sm, 32);
}

TEST(Occupancy, ClusterSize) {
  OccupancyOptions options;
  options.cluster_blocks = 17;
  EXPECT_EQ(limiter_names(occupancy(h200(), launch(128, 32, 0), options)), "cluster");
  options.cluster_blocks = 16;
  EXPECT_EQ(occupancy(h200(), launch(128, 32, 0), options).blocks_per_sm, 16);
  options.cluster_blocks = 2;
  EXPECT_EQ(occupancy(a100(), launch(128, 32, 0), options).blocks_per_sm, 0);
}

TEST(Occupancy, ActiveClusters) {
  // Groups of 18 18 16 16 16 16 16 8 2 2 2 2 SMs, one block an SM. Size 3: 6 + 6 + 5 x 5 + 2 = 39;
  // the pairs are too small. Size 16: 1 + 1 + 5 = 7.
  const GpuArch gpu = h200();
  const Occupancy one = occupancy(gpu, launch(128, 32, 225000));
  EXPECT_EQ(max_active_clusters(gpu, one, 3), 39);
  EXPECT_EQ(max_active_clusters(gpu, one, 16), 7);
  EXPECT_EQ(max_active_clusters(gpu, one, 17), 0);
}

TEST(Occupancy, ImpossibleLaunches) {
  EXPECT_EQ(occupancy(h200(), launch(0, 32, 0)).blocks_per_sm, 0);
  EXPECT_EQ(occupancy(h200(), launch(1025, 16, 0)).blocks_per_sm, 0);
  LaunchGeometry huge = launch(128, 32, 0);
  huge.block = {0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu};
  huge.registers_per_thread = 0xFFFFFFFFu;
  huge.shared_bytes = 0xFFFFFFFFu;
  EXPECT_EQ(occupancy(h200(), huge).blocks_per_sm, 0);
}

TEST(Waves, FullAndPartial) {
  // 16 blocks x 132 SMs = 2112 a wave; 5000 = 2 x 2112 + 776.
  const GpuArch gpu = h200();
  const LaunchGeometry geometry = launch(128, 32, 0, 5000);
  const Waves w = waves(gpu, geometry, occupancy(gpu, geometry));
  EXPECT_EQ(w.blocks_per_wave, 2112);
  EXPECT_EQ(w.full, 2);
  EXPECT_EQ(w.tail_blocks, 776);
  EXPECT_NEAR(w.count, 2.3674, 1e-4);
}

TEST(Waves, LaunchThatFailsHasNone) {
  const LaunchGeometry geometry = launch(2048, 32, 0, 5000);
  const Waves w = waves(a100(), geometry, occupancy(a100(), geometry));
  EXPECT_EQ(w.blocks_per_wave, 0);
  EXPECT_EQ(w.count, 0.0);
}

TEST(DriverCarveout, FollowsNsightCompute) {
  const GpuArch gpu = h200();
  const auto carveout = [&](const LaunchGeometry& geometry) {
    return driver_carveout_bytes(gpu, geometry, occupancy(gpu, geometry));
  };
  // No shared memory, 512 threads: 4 x 4 blocks x 1 KiB.
  EXPECT_EQ(carveout(launch(512, 32, 0)), 16384);
  // 8 blocks of 5248 B (4224 + 1024): room for 16, 83968, next size 100 KiB.
  EXPECT_EQ(carveout(launch(256, 32, 4224)), 102400);
  // 4 blocks of 13696 B: room for 8, 109568, is 132 KiB and below 62 % (141 KiB).
  EXPECT_EQ(carveout(launch(128, 121, 12672)), 135168);
  // 4 blocks of 29824 B: room for 8 would be beyond that; 132 KiB holds the 4.
  EXPECT_EQ(carveout(launch(128, 128, 28680)), 135168);
  // 1 block of 227 KiB.
  EXPECT_EQ(carveout(launch(384, 168, 231424)), 233472);
}

}  // namespace
}  // namespace tandem
