// Activity of SMs that several kernels share. Times in microseconds.
#include "sim/metrics/overlap.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::at_us;

Timeline two_kernels() {
  Timeline run;
  run.work_begin = {at_us(0), at_us(50)};
  run.work_end = {at_us(100), at_us(150)};
  return run;
}

TEST(Overlap, CountsTheDeviceOnce) {
  // 0.8 over [0, 50], min(1, 1.6) over [50, 100], 0.8 over [100, 150]: 40 + 50 + 40.
  EXPECT_DOUBLE_EQ(capped_busy_us(two_kernels(), std::vector<double>{80, 80}), 130);
}

TEST(Overlap, AddsUpWhatFits) {
  EXPECT_DOUBLE_EQ(capped_busy_us(two_kernels(), std::vector<double>{30, 50}), 80);
}

TEST(Overlap, CapsTheActivityOfAStep) {
  GpuScale gpu;
  gpu.sm_count = 2, gpu.smsp_per_sm = 4, gpu.clock_mhz = 1000;  // 8000 cycles a us
  std::vector<WorkCounters> works(2);
  for (WorkCounters& work : works) work.smsp_active_cycles = 80 * 8000;
  GpuMetrics step;
  cap_overlap(works, two_kernels(), gpu, 200, step);
  EXPECT_DOUBLE_EQ(step.smsp_active_cycles, 130 * 8000.0);
  EXPECT_DOUBLE_EQ(step.smsp_active_utilization, 0.65);
  EXPECT_DOUBLE_EQ(step.smact, 0.65);
}

}  // namespace
}  // namespace tandem
