// Counters of single kernels.
#include "sim/metrics/gpu_metrics.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tandem
