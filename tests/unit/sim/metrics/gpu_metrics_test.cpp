// Counters of single kernels.
#include "sim/metrics/gpu_metrics.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/metrics/kernel_levels.h"

namespace tandem {
namespace {

// A collective that waited for half of its 200 us: half of its cycles, all of its traffic.
TEST(GpuMetrics, WithoutItsWaitAKernelHasFewerCyclesAndTheSameTraffic) {
  WorkCounters traced;
  traced.time_us = 200;
  traced.smsp_active_cycles = 1000;
  traced.warp_active_cycles = 8000;
  traced.dram_read_bytes = 4096;
  const WorkCounters moving = lasting(traced, 100);
  EXPECT_EQ(moving.time_us, 100);
  EXPECT_EQ(moving.smsp_active_cycles, 500);
  EXPECT_EQ(moving.warp_active_cycles, 4000);
  EXPECT_EQ(moving.dram_read_bytes, 4096);
  EXPECT_EQ(lasting(WorkCounters{}, 5).time_us, 0);
}

// Two kernels side by side for 10 us last 14 and 16 in the step: that is what each table shows.
// What is said of their use is of their own 10 us.
TEST(GpuMetrics, FamiliesLastAsLongAsTheirWorksInTheStep) {
  const GpuScale gpu{10, 4, 64, 1000, 1000, 5000, 1};
  WorkCounters product;
  product.family = KernelFamily::gemm;
  product.time_us = 10;
  product.smsp_elapsed_cycles = 10 * 1000 * 40;
  product.smsp_active_cycles = 0.5 * product.smsp_elapsed_cycles;
  const std::vector<WorkCounters> works{product, product};
  const std::vector<double> times{14, 16};
  const std::vector<FamilyShare> families = family_shares(works, times, gpu);
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].time_us, 30);
  EXPECT_EQ(families[0].share, 1);
  EXPECT_NEAR(families[0].metrics.smsp_active_utilization, 0.5, 1e-12);
}

// A kernel of one warp in 64 that lasts 9 us on a tenth of the SMs, and one of 32 on all of them
// for 1 us. Held blocks count, not time: 0.9 of 1/64 and 1 of 1/2 are 0.27 in the mean, where a
// mean by time would state 0.064, less than what is achieved.
TEST(GpuMetrics, OccupancyIsAchievedWithinTheTheoreticalOne) {
  const GpuScale gpu{10, 4, 64, 1000, 1000, 5000, 1};
  const auto kernel = [](double us, double active_share, double occupancy) {
    WorkCounters c;
    c.time_us = us;
    c.smsp_elapsed_cycles = us * 1000 * 40;
    c.smsp_active_cycles = active_share * c.smsp_elapsed_cycles;
    c.theoretical_occupancy = occupancy;
    c.warp_active_cycles = 0.95 * occupancy * 64 * c.smsp_active_cycles / 4;
    return c;
  };
  const std::vector<WorkCounters> works{kernel(9, 0.1, 1.0 / 64), kernel(1, 1, 0.5)};
  const KernelLevels levels = kernel_levels(works, gpu);
  EXPECT_NEAR(levels.theoretical_occupancy, (0.9 / 64 + 0.5) / 1.9, 1e-12);
  EXPECT_NEAR(levels.achieved_occupancy, 0.95 * levels.theoretical_occupancy, 1e-12);
}

}  // namespace
}  // namespace tandem
