// Attention whose mask gets a gradient, in 16 bits: the framework's own kernels, as in FP32.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/step/attention_calls.h"
#include "models/step/binding/made_tensors.h"
#include "models/whatif/precision/precision.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::precision_bench;

/// 64 windows of three heads with 36 rows of 32, and the gradients that are `asked` for.
Step masked_windows(const std::string& asked) {
  FlowMaker m;
  const std::string one = "[64,3,36,32]", mask = "[64,3,36,36]";
  m.sequence = 1;
  m.op("aten::linear>aten::mm", "[[2304,96],[96,96]]", test::two_floats, "", "sgemm");
  m.sequence = 2;
  m.op("aten::scaled_dot_product_attention>aten::_scaled_dot_product_efficient_attention",
       "[" + one + "," + one + "," + one + "," + mask + ",[],[],[],[]]",
       R"(["float","float","float","float","Scalar","Scalar","Scalar","Scalar"])",
       R"(["","","","","True","0.","False",""])", "fmha_cutlassF_f32_aligned_64x64_rf_sm80");
  m.thread = 1;
  m.op(
      "autograd::engine::evaluate_function: ScaledDotProductEfficientAttentionBackward0>"
      "ScaledDotProductEfficientAttentionBackward0>"
      "aten::_scaled_dot_product_efficient_attention_backward",
      "[" + one + "," + one + "," + one + "," + one + "," + mask + "," + one +
          ",[64,3,64],[],[],[],[],[],[]]",
      R"(["float","float","float","float","float","float","float","long int","long int",)"
      R"("Scalar","ScalarList","Scalar",""])",
      R"(["","","","","","","","","","0.",")" + asked + R"(","False",""])",
      "fmha_cutlassB_f32_aligned_64x64_k32_sm80");
  return m.step();
}

int count_of(const Step& step, const std::string& part) {
  const auto names = test::kernel_names(step);
  return static_cast<int>(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.find(part) != std::string::npos;
  }));
}

Step masked_in_amp(const std::string& asked) {
  const test::PrecisionBench& m = precision_bench();
  LossList losses;
  return with_precision(masked_windows(asked), Precision::amp, m.h200(), m.law, m.time, m.names,
                        m.layers, m.host, losses);
}

TEST(LearnedMasks, AreThoseWhoseGradientIsAskedFor) {
  const auto learned = [](const std::string& asked) {
    const Step step = masked_windows(asked);
    const Dataflow flow = dataflow(step);
    const auto all = learned_masks(step.trace, flow);
    return std::count(all.begin(), all.end(), true);
  };
  EXPECT_EQ(learned("[True, True, True, True]"), 2);  // forward and backward
  EXPECT_EQ(learned("[True, True, True, False]"), 0);
}

TEST(LearnedMasks, KeepTheKernelsOfTheFramework) {
  const Step learned = masked_in_amp("[True, True, True, True]");
  EXPECT_EQ(count_of(learned, "fmha_cutlassF_f16"), 1);
  EXPECT_EQ(count_of(learned, "fmha_cutlassB_f16"), 1);
  EXPECT_EQ(count_of(learned, "cudnn"), 0);
  const Step given = masked_in_amp("[True, True, True, False]");
  EXPECT_EQ(count_of(given, "fmha_cutlass"), 0);
  EXPECT_GE(count_of(given, "cudnn"), 2);
}

// 192 heads of one tile are two blocks on the busiest of 132 SMs: 2 us and twice what a block and a
// tile take. Two products of 64 x 64 x 64 are 256 cycles at 2048 multiply-adds a clock, 4096
// exponentials 256 on 16 lanes.
TEST(LearnedMasks, TakeTheirOwnTime) {
  const test::PrecisionBench& m = precision_bench();
  const AttentionShape shape{.heads = 192,
                             .queries = 36,
                             .keys = 36,
                             .width = 32,
                             .mask_elements = 192 * 36 * 36,
                             .learned_mask = true};
  const AttentionPace& pace = m.time.attention(DataType::bf16, false, true);
  EXPECT_TRUE(pace.learned_mask);
  EXPECT_FALSE(m.time.attention(DataType::fp32, false, true).learned_mask);
  const double block = pace.start_cycles + pace.tile_cycles + 256 + 256;
  EXPECT_NEAR(attention_us(m.h200(), m.time, shape, DataType::fp16, false),
              2 + 2 * block / m.h200().boost_clock_mhz, 1e-6);
}

// 197 copies of a matrix of 768 x 2304 are one in memory.
TEST(StoredShape, WhatADimensionRepeatsIsStoredOnce) {
  TensorShape shape;
  shape.rank = 3;
  shape.dims = {197, 768, 2304}, shape.strides = {0, 1, 768};
  shape.expanded = 197;
  EXPECT_EQ(stored_shape(shape).elements(), 768 * 2304);
  shape.strides[0] = 768 * 2304, shape.expanded = 1;
  EXPECT_EQ(stored_shape(shape), shape);
}

}  // namespace
}  // namespace tandem
