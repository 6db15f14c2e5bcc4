// Which works of a step a lower clock of the SMs makes longer.
#include "models/step/slowdown.h"

#include <gtest/gtest.h>

#include "models/arch/gpu_config.h"
#include "models/step/op_nesting.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

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
  Step step = m.step();
  step.trace.activities.duration[step.plan.works[0].source] = from_us(product_us);
  retime_plan(step);
  return step;
}

const GpuArch& gpu() {
  static const GpuArch h200 = load_gpu(source_path("configs/gpus/h200_sxm.json"));
  return h200;
}

std::vector<Slowdown> slowdowns_on(const GpuArch& after, Step& step) {
  static const TimeConstants constants =
      TimeConstants::load(source_path("configs/kernels/time.json"));
  const TraceLaunches launches(step.trace, step.links, nest_ops(step.trace, step.links).of_call);
  return slowdowns(step, launches, gpu(), after, constants, 1);
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

// Of a product that lasts as long as its bytes take nothing is left that could follow the clock.
TEST(Slowdown, WhatBytesExplainStays) {
  Step step = product_and_relu();
  step.trace.activities.duration[step.plan.works[0].source] = from_us(300);
  retime_plan(step);
  EXPECT_NEAR(slowdowns_on(lowered_to(gpu(), 0.5), step)[0].ratio, 1, 1e-9);
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
