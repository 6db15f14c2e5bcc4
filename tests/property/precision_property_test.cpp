// What holds for every precision of a measured training step.
#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "models/kernel/kinds.h"
#include "sim/predict/predict.h"
#include "sim/predict/scenario.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const TracedRun& precision_analysis() {
  static const TracedRun a = [] {
    ReplayOptions o;
    o.configs = source_path("configs");
    return analyse(import_trace(source_path("validation/captures/h200_2026-11-20_fit/traces/"
                                            "resnet50-train-fp32-eager-b32.json.zst")),
                   o);
  }();
  return a;
}

Scenario scenario(const std::string& precision) {
  ReplayOptions o;
  o.what_ifs.set("precision", precision);
  return make_scenario(precision_analysis(), nullptr, o);
}

TEST(PrecisionProperty, PlanAndTraceAgree) {
  int seen = 0;
  for (const char* precision : {"amp", "bf16", "tf32", "fp16w", "bf16w"}) {
    const Scenario s = scenario(precision);
    for (const DeviceWork& work : s.step.plan.works) {
      ASSERT_EQ(work.duration, s.step.trace.activities.duration[work.source]);
      ASSERT_GT(work.duration, Duration::zero());
      ++seen;
    }
    ASSERT_EQ(s.step.traced_activity.size(), s.step.trace.activities.size());
  }
  EXPECT_GT(seen, 0);
}

TEST(PrecisionProperty, LowerPrecisionTakesLessGpuTime) {
  EXPECT_LT(gpu_us(scenario("amp").step), 0.8 * gpu_us(precision_analysis().traced_step));
  EXPECT_LT(gpu_us(scenario("bf16").step), gpu_us(precision_analysis().traced_step));
  EXPECT_EQ(gpu_us(scenario("fp32").step), gpu_us(precision_analysis().traced_step));
}

TEST(PrecisionProperty, EveryConvolutionIsCastAndCastBack) {
  // 53 convolutions with a weight, a linear layer with weight and bias, and the images: 56 forward;
  // gradients of all but the images: 55. The loss reads FP32: one more cast each way.
  const Scenario s = scenario("bf16");
  EXPECT_EQ(report_number(find_report(s.what_ifs, "precision"), "casts_added", -1), 56 + 55 + 2);
}

// No product, convolution or optimizer is left in FP32; only the program's own conversions are
// casts (the logits, there and back), where autocast has more.
TEST(PrecisionProperty, WeightsOf16BitsLeaveNothingInFp32) {
  for (const char* precision : {"fp16w", "bf16w"}) {
    const Scenario s = scenario(precision);
    for (const DeviceWork& work : s.step.plan.works) {
      const KernelClass& kernel = s.step.kernels.of(work.source);
      const bool multiplies =
          kernel.family == KernelFamily::gemm || kernel.family == KernelFamily::convolution;
      if (!multiplies || row_of(kernel.traits).role != Role::main) continue;
      EXPECT_FALSE(kernel.math == DataType::fp32 || kernel.math == DataType::tf32)
          << s.step.trace.strings.get(s.step.trace.activities.name[work.source]);
    }
    EXPECT_EQ(report_number(find_report(s.what_ifs, "precision"), "casts_added", -1), 2);
  }
  EXPECT_LE(scenario("bf16w").step.plan.works.size(), scenario("bf16").step.plan.works.size());
}

TEST(PrecisionProperty, KernelNamesStayKnown) {
  std::size_t unknown = 0, all = 0;
  for (const char* precision : {"amp", "bf16", "fp16w", "bf16w"}) {
    const Scenario s = scenario(precision);
    for (const DeviceWork& work : s.step.plan.works) {
      const auto name = s.step.trace.strings.get(s.step.trace.activities.name[work.source]);
      unknown += classify(name).family == KernelFamily::generic, ++all;
    }
  }
  EXPECT_GT(all, 0U);
  EXPECT_LT(unknown * 50, all);
}

TEST(PrecisionProperty, ComposesWithTheBatch) {
  ReplayOptions o;
  o.what_ifs.set("precision", "amp");
  o.what_ifs.set("batch", 64);
  const double twice = gpu_us(make_scenario(precision_analysis(), nullptr, o).step);
  const double once = gpu_us(scenario("amp").step);
  EXPECT_GT(twice, 1.6 * once);
  EXPECT_LT(twice, 2.1 * once);
}

}  // namespace
}  // namespace tandem
