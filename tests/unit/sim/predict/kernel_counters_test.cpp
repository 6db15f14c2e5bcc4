// Measured counters of a traced kernel, carried over to what a what-if makes of it.
#include "sim/predict/stages/kernel_counters.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

WorkCounters cycles(double elapsed, double active, double issue) {
  WorkCounters c;
  c.smsp_elapsed_cycles = elapsed;
  c.smsp_active_cycles = active;
  c.smsp_issue_cycles = issue;
  return c;
}

// Measured over model: elapsed 110 / 100, active 88 / 80, issue 20 / 40. The scenario's 50, 40, 30
// become 55, 44 and 15.
TEST(ApplyResidual, MultipliesEachCounter) {
  WorkCounters scenario = cycles(50, 40, 30);
  apply_residual(cycles(110, 88, 20), cycles(100, 80, 40), scenario);
  EXPECT_DOUBLE_EQ(scenario.smsp_elapsed_cycles, 55);
  EXPECT_DOUBLE_EQ(scenario.smsp_active_cycles, 44);
  EXPECT_DOUBLE_EQ(scenario.smsp_issue_cycles, 15);
  EXPECT_FALSE(scenario.clamped);
}

// The traced kernel issues 1.5 times what the model says, in 60 of 80 cycles; of a kernel that
// issues in 30 of 40 by the model that would be 45 of 40.
TEST(ApplyResidual, CutsWhatDoesNotFit) {
  WorkCounters scenario = cycles(50, 40, 30);
  apply_residual(cycles(100, 80, 60), cycles(100, 80, 40), scenario);
  EXPECT_DOUBLE_EQ(scenario.smsp_active_cycles, 40);
  EXPECT_DOUBLE_EQ(scenario.smsp_issue_cycles, 40);
  EXPECT_TRUE(scenario.clamped);
}

}  // namespace
}  // namespace tandem
