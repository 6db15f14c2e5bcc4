// Strides of convolutions that only the backward pass shows.
#include "models/step/unrecorded/options.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

TEST(UnrecordedOptions, WindowsFitAsOftenAsTheResultIsLarge) {
  struct Case {
    std::int64_t size, taps, results, stride, padding;
  };
  const Case cases[]{
      {56, 3, 56, 1, 1},    // (56 + 2 - 3) / 1 + 1
      {224, 7, 112, 2, 3},  // (224 + 6 - 7) / 2 + 1
      {56, 1, 28, 2, 0},    // (56 - 1) / 2 + 1
      {149, 3, 147, 1, 0},  // no padding: (149 - 3) / 1 + 1
      {299, 3, 149, 2, 0},  // (299 - 3) / 2 + 1
      {7, 7, 1, 7, 3},      // one result: no second one from stride 7 on, (7 + 6 - 7) / 7 + 1
      {227, 11, 55, 4, 2},  // (227 + 4 - 11) / 4 + 1, as with no padding: 216 / 4 + 1
  };
  for (const Case& c : cases) {
    const auto window = window_options(c.size, c.taps, c.results);
    ASSERT_TRUE(window.has_value()) << c.size << " " << c.taps;
    EXPECT_EQ((c.size + 2 * window->padding - c.taps) / window->stride + 1, c.results);
    EXPECT_EQ(window->stride, c.stride) << c.size << " " << c.taps;
  }
  EXPECT_EQ(window_options(224, 7, 112)->padding, 3);
}

TEST(UnrecordedOptions, NoWindowGivesAResultThatIsTooLarge) {
  EXPECT_FALSE(window_options(56, 1, 57).has_value());
  EXPECT_FALSE(window_options(0, 3, 1).has_value());
  EXPECT_FALSE(window_options(56, 3, 0).has_value());
  EXPECT_FALSE(window_options(56, std::int64_t{1} << 39, 1 << 20).has_value());  // at once
}

constexpr const char* forward_dims = "[[8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], []]";

/// A forward convolution, and its backward one on the thread of autograd, with one kernel each.
struct TwoPasses {
  test::TraceMaker maker;
  std::uint32_t inner = 0;

  TwoPasses(std::string_view gradient, std::int64_t backward_sequence) {
    const auto conv2d = maker.op("aten::conv2d", 10, 20, 0, forward_dims);
    inner = maker.op("aten::cudnn_convolution", 12, 16, 0, forward_dims);
    const auto node = maker.op("ConvolutionBackward0", 40, 20, 1);
    maker.op("aten::convolution_backward", 42, 16, 1,
             std::string("[") + std::string(gradient) +
                 ", [8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], [], [], []]");
    maker.trace.ops.sequence[conv2d] = 7;
    maker.trace.ops.sequence[node] = backward_sequence;
    maker.launch(14, 2, 1);
    maker.kernel(20, 5, 1);
    maker.launch(44, 2, 2, 1);
    maker.kernel(50, 5, 2);
    maker.step(0, 0, 100);
  }
  LossList infer() { return infer_unrecorded_options(maker.trace, link_trace(maker.trace)); }
  /// Of cudnn_convolution: padding is argument 2, stride 3.
  std::vector<std::int64_t> argument(std::size_t i) const {
    const auto values = integers_of(operands_of(maker.trace, inner).argument(i));
    return {values.begin(), values.end()};
  }
};

TEST(UnrecordedOptions, TheGradientShowsTheStrideOfEveryOperationOfTheConvolution) {
  TwoPasses passes("[8, 128, 28, 28]", 7);
  EXPECT_TRUE(passes.infer().all().empty());
  EXPECT_EQ(passes.argument(3), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(passes.argument(2), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(integers_of(operands_of(passes.maker.trace, 0).argument(3)).size(), 2U);  // conv2d
}

TEST(UnrecordedOptions, AConvolutionWithoutABackwardPassIsOneLoss) {
  for (TwoPasses passes : {TwoPasses("[8, 128, 28, 28]", 8), TwoPasses("[8, 128, 90, 90]", 7)}) {
    const LossList losses = passes.infer();
    ASSERT_EQ(losses.all().size(), 1U);
    EXPECT_EQ(losses.all()[0].code, "convolution_stride_unknown");
    EXPECT_EQ(losses.all()[0].count, 1);  // conv2d and cudnn_convolution are one convolution
    EXPECT_EQ(losses.all()[0].severity, Severity::warning);
    EXPECT_TRUE(passes.argument(3).empty());
  }
}

TEST(UnrecordedOptions, RecordedOnesStay) {
  test::TraceMaker maker;
  const auto op = maker.op("aten::conv2d", 10, 20);
  maker.operands(op, {forward_dims, "", "", R"(["", "", "", "[4, 4]", "[0, 0]", "[1, 1]", "1"])"});
  maker.launch(14, 2, 1);
  maker.kernel(20, 5, 1);
  maker.step(0, 0, 100);
  EXPECT_TRUE(infer_unrecorded_options(maker.trace, link_trace(maker.trace)).all().empty());
  EXPECT_EQ(integers_of(operands_of(maker.trace, op).argument(3))[0], 4);
}

TEST(UnrecordedOptions, AttentionMayBeCausal) {
  test::TraceMaker maker;
  maker.op("aten::_scaled_dot_product_flash_attention", 10, 20, 0,
           "[[2, 12, 128, 64], [2, 12, 128, 64], [2, 12, 128, 64], [], [], [], []]");
  maker.launch(14, 2, 1);
  maker.kernel(20, 5, 1);
  maker.step(0, 0, 100);
  const LossList losses = infer_unrecorded_options(maker.trace, link_trace(maker.trace));
  EXPECT_EQ(losses.count("attention_mask_unknown"), 1);
}

}  // namespace
}  // namespace tandem
