// What must hold for every launch on every configured GPU.
#include <gtest/gtest.h>

#include <random>

#include "models/arch/gpu_config.h"
#include "models/arch/occupancy.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

constexpr int launches = 4000;  // per GPU and property

class OccupancyProperty : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(catalogue_.gpus.size(), 10U); }

  // Uniform numbers that are the same with every standard library.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  LaunchGeometry random_launch() {
    LaunchGeometry launch;
    launch.grid = {1 + below(5000), 1 + below(3), 1};
    launch.block = {1 + below(1100), 1 + below(2), 1};
    launch.registers_per_thread = below(258);
    launch.shared_bytes = below(2) ? 0 : below(240000);
    return launch;
  }
  OccupancyOptions random_options() {
    OccupancyOptions options;
    options.carveout_percent = below(2) ? -1 : static_cast<int>(below(101));
    options.barriers_per_block = static_cast<int>(below(17));
    return options;
  }

  GpuCatalogue catalogue_ = load_catalogue(source_path("configs/gpus"));
  std::mt19937_64 random_{7};
};

TEST_F(OccupancyProperty, StaysWithinEveryResourceOfTheSm) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    int resident = 0;
    for (int i = 0; i < launches; ++i) {
      const LaunchGeometry launch = random_launch();
      const Occupancy o = occupancy(gpu, launch, random_options());
      ASSERT_GE(o.blocks_per_sm, 0);
      ASSERT_LE(o.blocks_per_sm, gpu.max_blocks_per_sm);
      ASSERT_LE(o.active_warps, max_warps_per_sm(gpu));
      ASSERT_GE(o.theoretical, 0);
      ASSERT_LE(o.theoretical, 1);
      const std::int64_t registers = std::int64_t{launch.registers_per_thread} * gpu.warp_size;
      ASSERT_LE(registers * o.active_warps, gpu.registers_per_sm);
      ASSERT_LE(o.shared_allocated_bytes * o.blocks_per_sm, o.carveout_bytes);
      ASSERT_LE(o.carveout_bytes, max_shared_bytes(gpu));
      ASSERT_NE(o.limiters, 0) << "something always limits";
      resident += o.blocks_per_sm > 0;
    }
    EXPECT_GT(resident, launches / 20) << gpu.name;  // the launches are not all refused
  }
}

TEST_F(OccupancyProperty, MoreRegistersNeverHelp) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      LaunchGeometry launch = random_launch();
      const OccupancyOptions options = random_options();
      const int before = occupancy(gpu, launch, options).blocks_per_sm;
      launch.registers_per_thread += 1 + below(20);
      ASSERT_LE(occupancy(gpu, launch, options).blocks_per_sm, before);
    }
  }
}

// Only for the default carve-out: a preference that is too small for one block is replaced by the
// next larger size, which may hold more blocks than before.
TEST_F(OccupancyProperty, MoreSharedMemoryNeverHelps) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      LaunchGeometry launch = random_launch();
      const int before = occupancy(gpu, launch).blocks_per_sm;
      launch.shared_bytes += 1 + below(20000);
      ASSERT_LE(occupancy(gpu, launch).blocks_per_sm, before);
    }
  }
}

TEST_F(OccupancyProperty, LargerCarveoutNeverHurts) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      const LaunchGeometry launch = random_launch();
      OccupancyOptions options;
      int before = 0;
      for (const int percent : {0, 10, 30, 60, 100}) {
        options.carveout_percent = percent;
        const int blocks = occupancy(gpu, launch, options).blocks_per_sm;
        ASSERT_GE(blocks, before);
        before = blocks;
      }
      ASSERT_EQ(occupancy(gpu, launch).blocks_per_sm, before) << "the default is the largest";
    }
  }
}

TEST_F(OccupancyProperty, WavesAccountForEveryBlock) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      const LaunchGeometry launch = random_launch();
      const Occupancy o = occupancy(gpu, launch);
      const Waves w = waves(gpu, launch, o);
      if (o.blocks_per_sm == 0) continue;
      ASSERT_EQ(w.full * w.blocks_per_wave + w.tail_blocks, w.blocks);
      ASSERT_LT(w.tail_blocks, w.blocks_per_wave);
      ASSERT_NEAR(w.count * static_cast<double>(w.blocks_per_wave), static_cast<double>(w.blocks),
                  1e-6);
    }
  }
}

TEST_F(OccupancyProperty, DriverCarveoutHoldsTheBlocks) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      const LaunchGeometry launch = random_launch();
      const Occupancy o = occupancy(gpu, launch);
      const std::int64_t bytes = driver_carveout_bytes(gpu, launch, o);
      ASSERT_GE(bytes, o.shared_allocated_bytes * o.blocks_per_sm);
      ASSERT_LE(bytes, max_shared_bytes(gpu));
    }
  }
}

TEST_F(OccupancyProperty, ClustersNeverHoldMoreBlocksThanTheGpu) {
  for (const GpuArch& gpu : catalogue_.gpus) {
    for (int i = 0; i < launches; ++i) {
      const Occupancy o = occupancy(gpu, random_launch());
      for (int size = 1; size <= gpu.max_cluster_blocks; ++size) {
        ASSERT_LE(max_active_clusters(gpu, o, size) * size, gpu.sm_count * o.blocks_per_sm);
      }
    }
  }
}

}  // namespace
}  // namespace tandem
