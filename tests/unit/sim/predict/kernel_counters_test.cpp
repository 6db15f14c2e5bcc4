// Measured counters of a traced kernel, carried over to what a what-if makes of it.
#include "sim/predict/stages/kernel_counters.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// 100 GB/s of DRAM are 100 kB in a microsecond.
GpuArch slow_gpu() {
  GpuArch gpu;
  gpu.sm_count = 10;
  gpu.boost_clock_mhz = 1000;
  gpu.dram_peak_gbps = 100;
  gpu.l2_read_gbps = 1000;
  gpu.l1_bytes_per_clk = 128;
  return gpu;
}

WorkCounters cycles(double elapsed, double active, double issue) {
  WorkCounters c;
  c.time_us = 10;
  c.smsp_elapsed_cycles = elapsed;
  c.smsp_active_cycles = active;
  c.smsp_issue_cycles = issue;
  return c;
}

// Measured over model: elapsed 110 / 100, active 88 / 80, issue 20 / 40. The scenario's 50, 40, 30
// become 55, 44 and 15.
TEST(ApplyResidual, MultipliesEachCounter) {
  WorkCounters scenario = cycles(50, 40, 30);
  apply_residual(cycles(110, 88, 20), cycles(100, 80, 40), slow_gpu(), scenario);
  EXPECT_DOUBLE_EQ(scenario.smsp_elapsed_cycles, 55);
  EXPECT_DOUBLE_EQ(scenario.smsp_active_cycles, 44);
  EXPECT_DOUBLE_EQ(scenario.smsp_issue_cycles, 15);
  EXPECT_FALSE(scenario.clamped);
}

// The traced kernel issues 1.5 times what the model says, in 60 of 80 cycles; of a kernel that
// issues in 30 of 40 by the model that would be 45 of 40.
TEST(ApplyResidual, CutsWhatDoesNotFit) {
  WorkCounters scenario = cycles(50, 40, 30);
  apply_residual(cycles(100, 80, 60), cycles(100, 80, 40), slow_gpu(), scenario);
  EXPECT_DOUBLE_EQ(scenario.smsp_active_cycles, 40);
  EXPECT_DOUBLE_EQ(scenario.smsp_issue_cycles, 40);
  EXPECT_TRUE(scenario.clamped);
}

WorkCounters traffic(double dram_read, double l2) {
  WorkCounters c = cycles(100, 80, 40);
  c.dram_read_bytes = dram_read;
  c.l2_bytes = l2;
  return c;
}

// The model takes all but 10 bytes of the traced kernel's operands to be in L2, measured are 50000:
// what it lacks doubles with the traffic of L2 from 40000 to 80000 bytes. The model's 20 bytes of
// the other kernel become 20 + 2 x 49990, not 20 x 5000; and 100 kB a microsecond hold 1 MB.
TEST(ApplyResidual, AddsWhatAModelThatCountsNothingLacks) {
  WorkCounters scenario = traffic(20, 80000);
  apply_residual(traffic(50000, 40000), traffic(10, 40000), slow_gpu(), scenario);
  EXPECT_DOUBLE_EQ(scenario.dram_read_bytes, 100000);
  EXPECT_DOUBLE_EQ(scenario.l2_bytes, 80000);
  EXPECT_FALSE(scenario.clamped);
}

// Measured is twice the model, of a kernel that already moves 600 kB of the 1 MB that fit into its
// 10 us. L2 holds 10 MB in that time.
TEST(ApplyResidual, CutsWhatTheGpuCannotMove) {
  WorkCounters scenario = traffic(600000, 9e6);
  apply_residual(traffic(1000, 2000), traffic(500, 1000), slow_gpu(), scenario);
  EXPECT_DOUBLE_EQ(scenario.dram_read_bytes, 1e6);
  EXPECT_DOUBLE_EQ(scenario.l2_bytes, 1e7);
  EXPECT_TRUE(scenario.clamped);
}

}  // namespace
}  // namespace tandem
