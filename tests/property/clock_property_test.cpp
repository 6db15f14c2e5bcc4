// The what-if of a locked clock: `--clock MHZ`.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// Bound by matrix products in FP32: BERT.
const TracedRun& compute_bound() {
  static const TracedRun run = [] {
    ReplayOptions o;
    o.configs = source_path("configs");
    return analyse(import_trace(source_path("validation/captures/h200_2026-11-21_streams_holdout/"
                                            "traces/bert_base-train-fp32-eager-b16.json.zst")),
                   o);
  }();
  return run;
}

Result at(const TracedRun& run, std::string_view mhz) {
  ReplayOptions o;
  o.what_ifs.set("clock", mhz);
  return predict(run, o).result;
}

TEST(ClockProperty, TimeGrowsAndPowerFallsAsTheClockFalls) {
  double time_us = 0, power_w = 1e9;
  int points = 0;
  for (const char* mhz : {"1980", "1800", "1650", "1500", "1350", "1200", "1050", "900", "750"}) {
    SCOPED_TRACE(mhz);
    const Result r = at(compute_bound(), mhz);
    EXPECT_GE(r.step.time_us, time_us);
    EXPECT_LE(r.energy->average_power_w, power_w);
    time_us = r.step.time_us;
    power_w = r.energy->average_power_w;
    ++points;
  }
  EXPECT_EQ(points, 9);
}

TEST(ClockProperty, EnergyOfAComputeBoundStepIsLeastBelowTheTopClock) {
  const double top = at(compute_bound(), "1980").energy->energy_j;
  EXPECT_LT(at(compute_bound(), "1800").energy->energy_j, top);
  EXPECT_LT(at(compute_bound(), "1500").energy->energy_j, 0.95 * top);
  std::vector<double> energy;
  for (int mhz = 600; mhz <= 1980; mhz += 60) {
    energy.push_back(at(compute_bound(), std::to_string(mhz)).energy->energy_j);
  }
  const auto least = std::min_element(energy.begin(), energy.end());
  EXPECT_NE(least, energy.begin());  // slower still, the board at rest costs more than is saved
  EXPECT_NE(least, energy.end() - 1);
}

TEST(ClockProperty, MemoryBoundKernelsKeepTheirTime) {
  ReplayOptions o;
  const Prediction before = predict(compute_bound(), o);
  o.what_ifs.set("clock", "1200");
  const Prediction after = predict(compute_bound(), o);
  const Activities& was = before.step.trace.activities;
  const Activities& is = after.step.trace.activities;
  ASSERT_EQ(was.size(), is.size());
  int same = 0, longer = 0;
  for (const DeviceWork& work : before.step.plan.works) {
    const double ratio = to_us(is.duration[work.source]) / to_us(was.duration[work.source]);
    const KernelFamily family = before.step_counters[work.source].family;
    EXPECT_GE(ratio, 1 - 1e-6);
    EXPECT_LE(ratio, 1980.0 / 1200 + 1e-6);
    if (family == KernelFamily::pointwise || family == KernelFamily::transfer) {
      EXPECT_NEAR(ratio, 1, 1e-3);
      ++same;
    }
    longer += family == KernelFamily::gemm && ratio > 1.1;
  }
  EXPECT_GT(same, 100);
  EXPECT_GT(longer, 50);
}

TEST(ClockProperty, CyclesOfKernelsThatFollowTheClockStay) {
  const Result before = at(compute_bound(), "1980");
  const Result after = at(compute_bound(), "1200");
  const auto gemm = [](const Result& r) {
    return std::find_if(r.families.begin(), r.families.end(),
                        [](const FamilyShare& f) { return f.family == KernelFamily::gemm; });
  };
  ASSERT_NE(gemm(before), before.families.end());
  ASSERT_NE(gemm(after), after.families.end());
  // The same instructions, but for helpers whose instructions are a rate of their active cycles; as
  // many cycles but for what waits for memory or the board's limit.
  EXPECT_NEAR(gemm(after)->metrics.smsp_issue_cycles / gemm(before)->metrics.smsp_issue_cycles, 1,
              0.005);
  EXPECT_NEAR(gemm(after)->metrics.smsp_elapsed_cycles / gemm(before)->metrics.smsp_elapsed_cycles,
              1, 0.15);
  // Fewer cycles of waiting for memory: a larger share of the cycles issues.
  EXPECT_GE(after.gpu_step->smsp_issue_utilization, before.gpu_step->smsp_issue_utilization);
}

TEST(ClockProperty, TheTopClockIsTheTracedStep) {
  ReplayOptions o;
  EXPECT_EQ(at(compute_bound(), "1980").step.time_us,
            predict(compute_bound(), o).result.step.time_us);
  EXPECT_TRUE(at(compute_bound(), "1980").what_ifs.empty());
}

TEST(ClockProperty, FollowsTheOtherGpu) {
  ReplayOptions o;
  o.what_ifs.set("gpu", "a100_sxm4_80gb");
  o.what_ifs.set("clock", "1500");  // above the A100's 1410
  EXPECT_THROW(predict(compute_bound(), o), InputError);
  o.what_ifs.set("clock", "1200");
  const Result r = predict(compute_bound(), o).result;
  ASSERT_EQ(r.what_ifs.size(), 2U);
  EXPECT_EQ(r.what_ifs[1].name, "clock");
  EXPECT_EQ(r.what_ifs[1].from, "1410 MHz");
}

TEST(ClockProperty, ClocksOutOfRangeAreErrors) {
  for (const char* mhz : {"2000", "0", "-5", "fast", "nan"}) {
    SCOPED_TRACE(mhz);
    EXPECT_THROW(at(compute_bound(), mhz), InputError);
  }
}

}  // namespace
}  // namespace tandem
