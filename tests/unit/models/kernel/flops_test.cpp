// FLOPs by the formulas of operations: sums by hand.
#include "models/kernel/work/flops.h"

#include <gtest/gtest.h>

#include "models/kernel/kinds.h"
#include "sim/trace/importers/kineto/operands.h"

namespace tandem {
namespace {

KernelClass kernel_of(KernelFamily family, Kind kind, Engine engine = Engine::gmma) {
  KernelClass kernel;
  kernel.family = family;
  kernel.math = DataType::fp16;
  kernel.traits.kind = kind;
  kernel.traits.data = DataType::fp16;
  kernel.traits.engine = engine;
  return kernel;
}

double flops_of(const KernelClass& kernel, std::string_view op, std::string_view dims,
                std::string_view concrete = "") {
  const Operands operands = kineto::parse_operands({dims, "", "", concrete});
  return formula_flops(kernel, {op, operands.tensors, operands.arguments, LaunchGeometry{}});
}

const KernelClass gemm_class = kernel_of(KernelFamily::gemm, Kind::gemm_nvjet);

TEST(Flops, OfProducts) {
  // 2 m n k.
  EXPECT_DOUBLE_EQ(flops_of(gemm_class, "aten::mm", "[[32, 1024], [1024, 4096]]"),
                   2.0 * 32 * 1024 * 4096);
  EXPECT_DOUBLE_EQ(
      flops_of(gemm_class, "aten::addmm", "[[4096], [32, 1024], [1024, 4096], [], []]"),
      2.0 * 32 * 1024 * 4096);
  EXPECT_DOUBLE_EQ(flops_of(gemm_class, "aten::bmm", "[[96, 128, 64], [96, 64, 128]]"),
                   96 * 2.0 * 128 * 64 * 128);
}

TEST(Flops, OfConvolutionsAreThoseOfTheFormulaInEveryPass) {
  // 8 images, 64 to 128 channels, 3 x 3 taps, stride 2, padding 1: 56 x 56 to 28 x 28.
  const double formula = 2.0 * 8 * 128 * 28 * 28 * 64 * 3 * 3;
  KernelClass conv = kernel_of(KernelFamily::convolution, Kind::conv_xmma);
  EXPECT_DOUBLE_EQ(
      flops_of(conv, "aten::cudnn_convolution", "[[8, 64, 56, 56], [128, 64, 3, 3], [], [], []]",
               R"(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"])"),
      formula);
  for (const Pass pass : {Pass::input_gradient, Pass::weight_gradient}) {
    conv.traits.pass = pass;
    EXPECT_DOUBLE_EQ(
        flops_of(
            conv, "aten::convolution_backward",
            "[[8, 128, 28, 28], [8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], [], [], []]",
            R"(["", "", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ""])"),
        formula);
  }
}

TEST(Flops, OfGroupedConvolutionsSumOverTheChannelsOfAGroup) {
  const KernelClass depthwise = kernel_of(KernelFamily::convolution, Kind::depthwise, Engine::simt);
  EXPECT_DOUBLE_EQ(flops_of(depthwise, "aten::_conv_depthwise2d",
                            "[[4, 32, 14, 14], [32, 1, 3, 3], [], [], [], [], []]",
                            R"(["", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]"])"),
                   2.0 * 4 * 32 * 14 * 14 * 1 * 9);
}

TEST(Flops, OfGroupedConvolutionsFollowTheChannelsWhereGroupsAreNotRecorded) {
  const KernelClass conv = kernel_of(KernelFamily::convolution, Kind::conv_xmma);
  // 32 groups of 4 channels each.
  EXPECT_DOUBLE_EQ(flops_of(conv, "aten::cudnn_convolution", "[[4, 128, 14, 14], [256, 4, 3, 3]]"),
                   2.0 * 4 * 256 * 14 * 14 * 4 * 9);
}

TEST(Flops, OfTransposedConvolutionsAreThoseOfTheConvolutionTheyTurnAround) {
  // 16 images of 16 x 16, 256 to 128 channels, 2 x 2 taps, stride 2: each input pixel meets all
  // taps.
  const double formula = 2.0 * 16 * 256 * 16 * 16 * 128 * 2 * 2;
  KernelClass conv = kernel_of(KernelFamily::convolution, Kind::conv_xmma);
  conv.traits.pass = Pass::input_gradient;
  EXPECT_DOUBLE_EQ(
      flops_of(
          conv, "aten::cudnn_convolution_transpose", "[[16, 256, 16, 16], [256, 128, 2, 2]]",
          R"(["", "", "[0, 0]", "[0, 0]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])"),
      formula);
  conv.traits.pass = Pass::weight_gradient;
  EXPECT_DOUBLE_EQ(
      flops_of(
          conv, "aten::convolution_backward",
          "[[16, 128, 32, 32], [16, 256, 16, 16], [256, 128, 2, 2], [], [], [], [], [], [], []]",
          R"(["", "", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1", ""])"),
      formula);
  // 16 groups: each of the 64 channels adds to the 8 channels of its own group.
  EXPECT_DOUBLE_EQ(
      flops_of(conv, "aten::cudnn_convolution_transpose", "[[2, 64, 8, 8], [64, 8, 4, 4]]",
               R"(["", "", "[1, 1]", "[0, 0]", "[2, 2]", "[1, 1]", "16"])"),
      2.0 * 2 * 64 * 8 * 8 * 8 * 4 * 4);
}

TEST(Flops, OfAttentionAreTwoProductsForwardAndFiveBackward) {
  // 2 x 12 heads, 128 queries and keys, width 64; queries, keys, values.
  const double product = 2.0 * 24 * 128 * 128 * 64;
  const KernelClass forward = kernel_of(KernelFamily::attention, Kind::flash_forward);
  EXPECT_DOUBLE_EQ(
      flops_of(forward, "aten::_scaled_dot_product_flash_attention",
               "[[2, 12, 128, 64], [2, 12, 128, 64], [2, 12, 128, 64], [], [], [], []]",
               R"(["", "", "", "0.", "False", "False", ""])"),
      2 * product);
  const KernelClass backward = kernel_of(KernelFamily::attention, Kind::flash_backward);
  EXPECT_DOUBLE_EQ(
      flops_of(backward, "aten::_scaled_dot_product_flash_attention_backward",
               "[[2, 12, 128, 64], [2, 12, 128, 64], [2, 12, 128, 64], [2, 12, 128, 64]]"),
      5 * product);
}

TEST(Flops, OfCausalAttentionAreThoseOfTheLowerTriangle) {
  const KernelClass forward = kernel_of(KernelFamily::attention, Kind::flash_forward);
  // 128 x 129 / 2 scores of 24 heads, of width 64, twice, two FLOPs each.
  EXPECT_DOUBLE_EQ(
      flops_of(forward, "aten::_scaled_dot_product_flash_attention",
               "[[2, 12, 128, 64], [2, 12, 128, 64], [2, 12, 128, 64], [], [], [], []]",
               R"(["", "", "", "0.", "True", "False", ""])"),
      2 * 2.0 * 24 * 64 * (128 * 129 / 2));
}

TEST(Flops, OfOtherKernelsAreNone) {
  EXPECT_EQ(flops_of(kernel_of(KernelFamily::gemm, Kind::split_k_reduce), "aten::mm",
                     "[[32, 1024], [1024, 4096]]"),
            0);
  EXPECT_EQ(flops_of(kernel_of(KernelFamily::pointwise, Kind::unknown), "aten::add",
                     "[[32, 1024], [32, 1024], []]"),
            0);
  EXPECT_EQ(flops_of(gemm_class, "", ""), 0);  // of a graph: shapes are not known
}

TEST(ProductLimit, SaysWhyTensorCoresIdle) {
  KernelLaunch launch;
  launch.family = KernelFamily::gemm;
  launch.traits = gemm_class.traits;
  EXPECT_EQ(product_limit(launch), std::nullopt);
  launch.traits.load_bytes = 4;
  EXPECT_EQ(product_limit(launch), Shortfall::alignment);
  launch.traits.engine = Engine::simt;
  EXPECT_EQ(product_limit(launch), Shortfall::alignment);  // 16-bit operands on FP32 pipes
  launch.traits.data = DataType::fp32;
  EXPECT_EQ(product_limit(launch), Shortfall::type);
  launch.family = KernelFamily::layout;
  EXPECT_EQ(product_limit(launch), Shortfall::layout);
}

}  // namespace
}  // namespace tandem
