// Which works of a step a lower clock of the SMs makes longer.
#include "models/step/slowdown.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/arch/gpu_config.h"
#include "models/step/op_nesting.h"
#include "tests/gpus_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

/// The step whose first kernel lasts `us`.
Step first_lasting(Step step, double us) {
  step.trace.activities.duration[step.plan.works[0].source] = from_us(us);
  retime_plan(step);
  return step;
}

/// A product of these operands in 16 bits that lasts `us`.
Step lone_product(const char* shapes, const char* kernel, double us) {
  test::FlowMaker m;
  m.op("aten::mm", shapes, R"(["c10::BFloat16","c10::BFloat16"])", "", kernel);
  return first_lasting(m.step(), us);
}

constexpr double product_us = 12000;

/// A product of 16384 x 16384 x 16384 in 16 bits, whose 1.6 GB take 0.4 of its 12 ms, and a ReLU
/// over 64 MiB.
Step product_and_relu() {
  test::FlowMaker m;
  m.op("aten::mm", "[[16384,16384],[16384,16384]]", R"(["c10::BFloat16","c10::BFloat16"])", "",
       "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNN");
  m.op("aten::relu", "[[4096,4096]]", R"(["float"])", "",
       "void at::native::vectorized_elementwise_kernel<4, "
       "at::native::launch_clamp_scalar<float>, std::array<char*, 2ul> >(int)");
  return first_lasting(m.step(), product_us);
}

using test::gpu;

std::vector<Slowdown> slowdowns_on(const GpuArch& after, Step& step) {
  static const TimeConstants constants =
      TimeConstants::load(source_path("configs/kernels/time.json"));
  const TraceLaunches launches(step.trace, step.links, nest_ops(step.trace, step.links).of_call);
  static const CostConstants costs = CostConstants::load(source_path("configs/kernels/costs.json"));
  return slowdowns(step, launches, gpu(), after, {constants, costs}, 1);
}

TEST(Slowdown, ProductsFollowTheClockAndStreamsOfBytesDoNot) {
  Step step = product_and_relu();
  const auto s = slowdowns_on(lowered_to(gpu(), 0.5), step);
  ASSERT_EQ(s.size(), 2U);
  EXPECT_TRUE(s[0].known && s[1].known);
  EXPECT_NEAR(s[0].ratio, 2, 0.1);  // all but the start of the kernel
  EXPECT_NEAR(s[1].ratio, 1, 1e-9);
  slow_down(step, s);
  const auto& works = step.plan.works;
  EXPECT_NEAR(to_us(works[0].duration), product_us * s[0].ratio, 1e-5);
  EXPECT_EQ(to_us(works[1].duration), 8);  // as FlowMaker's kernels do
}

// A product of 64 rows reads 2 x 16384^2 = 537 MB, 124 us of DRAM at 4.34 TB/s. Where it lasts
// 120 us nothing is left that could follow the clock: at half of it the pipe needs 70 us.
TEST(Slowdown, WhatBytesExplainStays) {
  Step step =
      lone_product("[[64,16384],[16384,16384]]", "nvjet_sm90_tst_64x8_64x16_2x4_v_bz_NNN", 120);
  EXPECT_NEAR(slowdowns_on(lowered_to(gpu(), 0.5), step)[0].ratio, 1, 1e-9);
}

// 16384 blocks of 8 warps issue some twenty instructions each, 3 million on 528 SMSPs: 3 of the 8
// us at 1980 MHz. At a tenth of the clock they alone take longer than 8.
TEST(Slowdown, NoStreamIssuesFasterThanTheLowerClock) {
  Step step = product_and_relu();
  step.trace.geometries[0] = {{16384, 1, 1}, {256, 1, 1}, 32, 0};
  const double half = slowdowns_on(lowered_to(gpu(), 0.5), step)[1].ratio;
  EXPECT_NEAR(slowdowns_on(lowered_to(gpu(), 0.9), step)[1].ratio, 1, 1e-9);
  EXPECT_NEAR(half, 13.5 / 8, 0.05);
  EXPECT_NEAR(slowdowns_on(lowered_to(gpu(), 0.25), step)[1].ratio, 2 * half, 1e-6);
}

// No product beats its pipe, whatever its bytes explain: 2 x 2048^2 x 16384 = 137 GFLOP at 1070
// TFLOP/s are 128.4 us, and last 129. At half the clock they take 256.8, though their 142 MB
// explain about 34 us: hypot(34, 2 x sqrt(127.7^2 - 34^2)) + 1.3 = 250 us would beat it.
TEST(Slowdown, NoProductBeatsItsPipeAtTheLowerClock) {
  Step step = lone_product("[[2048,16384],[16384,2048]]",
                           "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNN", 129);
  const double flop = 2.0 * 2048 * 2048 * 16384;
  const double peak = tensor_peak_tflops(gpu(), MathType::bf16, gpu().boost_clock_mhz / 2);
  EXPECT_NEAR(slowdowns_on(lowered_to(gpu(), 0.5), step)[0].ratio * 129, flop / (peak * 1e6), 1e-3);
}

TEST(Slowdown, ALockAboveTheClockOfALongLoadCostsItLess) {
  Step step = product_and_relu();
  const double tensor_share = gpu().tensor_clock_mhz / gpu().boost_clock_mhz;
  ASSERT_LT(tensor_share, 0.95);
  const double locked = slowdowns_on(locked_at(gpu(), 0.95 * gpu().boost_clock_mhz), step)[0].ratio;
  const double lowered = slowdowns_on(lowered_to(gpu(), 0.95), step)[0].ratio;
  EXPECT_LT(locked, lowered - 0.005);    // part of the time is spent below that clock as it is
  EXPECT_NEAR(lowered, 1 / 0.95, 2e-3);  // a longer load has lost a little more of its clock, too
}

}  // namespace
}  // namespace tandem
