// In which order of images compiled models run, and what that changes; times worked out from the
// constants of the law.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::add_half_convolution;
using test::CompileBench;
using test::FlowMaker;
using test::half2;
using test::kernel_names;

constexpr std::string_view float_operands = R"(["float","float"])";

TEST(Fuse, XlaTurnsTheWeightsOfConvolutions) {
  FlowMaker m;
  add_half_convolution(m, "4,128,16,16", "128,128,3,3");
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
  CompileBench s;
  EXPECT_EQ(s.compile(m.step()).plan.works.size(), 2U);
  EXPECT_EQ(s.compile(m.step(), Compiler::xla).plan.works.size(), 3U);
  ASSERT_EQ(s.report.kernels.size(), 1U);
  // 128 x 128 x 9 weights, read in FP32 and written in half precision.
  const double bytes = 128.0 * 128 * 9 * (4 + 2);
  EXPECT_EQ(s.report.kernels[0].bytes, bytes);
  const double rate = s.law.transpose_cast_share * s.gpu().dram_peak_gbps * 1e3;  // bytes a us
  EXPECT_NEAR(s.report.kernels[0].us, s.law.generated.pointwise.floor_us + bytes / rate, 1e-9);
}

TEST(Fuse, LayoutTransformsGoWithChannelsLastConvolutions) {
  const auto convolution = [](int channels, int groups, bool trains) {
    FlowMaker m;
    m.sequence = 1;
    add_half_convolution(m, "4," + std::to_string(channels) + ",16,16",
                         "128," + std::to_string(channels / groups) + ",3,3",
                         "nchwToNhwcKernel<__half>", groups);
    if (trains) {
      m.thread = 1;
      m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
           "[[256,64],[64,256]]", float_operands);
      m.thread = 0;
    }
    m.sequence = -1;
    m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
    return m.step();
  };
  const auto keeps_transform = [&](int channels, int groups, bool trains) {
    CompileBench s;
    const auto names = kernel_names(s.compile(convolution(channels, groups, trains)));
    return std::count(names.begin(), names.end(), "nchwToNhwcKernel<__half>") == 1;
  };
  EXPECT_FALSE(keeps_transform(128, 1, false));
  EXPECT_FALSE(keeps_transform(128, 1, true));
  // Many inputs and few outputs: training keeps the order of the model, inference weighs the work.
  EXPECT_TRUE(keeps_transform(256, 1, true));
  EXPECT_FALSE(keeps_transform(256, 1, false));
  // Groups alone: 1.358 times the work in the other order.
  EXPECT_TRUE(keeps_transform(128, 8, true));
  EXPECT_TRUE(keeps_transform(128, 8, false));
}

// The framework hands lines to the library as images of one row; the compiler chooses the order of
// pictures alone.
TEST(Fuse, LayersOverTimeKeepTheirTransforms) {
  const auto transforms = [](std::string_view layer, std::string_view around) {
    FlowMaker m;
    m.around_dims = around;
    m.around_types = R"(["c10::Half","c10::Half"])";
    m.op(std::string(layer) + ">aten::cudnn_convolution",
         "[[4,128,1,256],[128,128,1,3],[],[],[],[]]",
         R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
         R"(["","","[0, 1]","[1, 1]","[1, 1]","1"])", "nchwToNhwcKernel<__half>");
    m.around_dims = "";
    m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
    CompileBench s;
    const auto names = kernel_names(s.compile(m.step()));
    return std::count(names.begin(), names.end(), "nchwToNhwcKernel<__half>");
  };
  EXPECT_EQ(transforms("aten::conv1d", "[[4,128,256],[128,128,3]]"), 1);
  EXPECT_EQ(transforms("aten::conv2d", "[[4,128,1,256],[128,128,1,3]]"), 0);
}

// Three channels of 128 x 128 pixels, 3 x 3 to 64 channels: measured on FP32 pipes in 7.78 us in
// the order of channels, as an implicit product in 4.77 us with channels last. Traced: 8 us.
TEST(Fuse, FirstLayersRunAsMeasuredWithChannelsLast) {
  FlowMaker m;
  add_half_convolution(
      m, "1,3,128,128", "64,3,3,3",
      "void implicit_convolve_sgemm<__half, __half, 1024, 5, 5, 3, 3, 3, 1, false, false, true>");
  add_half_convolution(m, "32,128,56,56", "128,128,3,3");
  CompileBench s;
  const Step out = s.compile(m.step());
  EXPECT_NEAR(to_us(out.plan.works[0].duration), 8 * 4.77 / 7.78, 0.5);
  EXPECT_EQ(to_us(out.plan.works[1].duration), 8);
}

// One convolution among 300 operations keeps the order of images (transformers of patches).
TEST(Fuse, FewConvolutionsAmongManyOperationsKeepTheirOrder) {
  const auto keeps_transform = [](int views) {
    FlowMaker m;
    add_half_convolution(m, "4,128,16,16", "128,128,3,3", "nchwToNhwcKernel<__half>");
    for (int i = 0; i < views; ++i) m.idle("aten::view", "[[4,128,16,16]]", R"(["c10::Half"])");
    m.op("aten::relu", "[[4,128,16,16]]", R"(["c10::Half"])");
    CompileBench s;
    const auto names = kernel_names(s.compile(m.step()));
    return std::count(names.begin(), names.end(), "nchwToNhwcKernel<__half>") == 1;
  };
  EXPECT_FALSE(keeps_transform(100));
  EXPECT_TRUE(keeps_transform(300));
}

// The parameter is FP32, for a conversion made the weight: 128 x 128 x 9 gradients are read and
// written in four bytes each.
TEST(Fuse, GradientsOfFiltersReturnToTheOrderOfTheirParameters) {
  const auto last_us = [](int taps) {
    const std::string filter = "128,128," + std::to_string(taps) + "," + std::to_string(taps);
    FlowMaker m;
    m.sequence = 1;
    m.op("aten::copy_", "[[" + filter + "],[" + filter + "],[]]",
         R"(["c10::Half","float","Scalar"])");
    m.sequence = 2;
    add_half_convolution(m, "4,128,16,16", filter);
    m.thread = 1;
    m.op(
        "autograd::engine::evaluate_function: ConvolutionBackward0>ConvolutionBackward0>"
        "aten::convolution_backward",
        "[[4,128,16,16],[4,128,16,16],[" + filter + "]]",
        R"(["c10::Half","c10::Half","c10::Half"])", "",
        "sm90_xmma_wgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc");
    CompileBench s;
    const Step out = s.compile(m.step());
    return to_us(out.plan.works.back().duration);
  };
  CompileBench s;
  const double bytes = 128.0 * 128 * 9 * 8;
  EXPECT_NEAR(last_us(3), streamed_us(s.gpu(), s.law.gradient_copy, bytes), 1e-5);
  EXPECT_GT(std::abs(last_us(1) - streamed_us(s.gpu(), s.law.gradient_copy, bytes / 9)), 1e-3);
}

// Rows of 1001 half-precision numbers begin at multiples of two bytes, those of 1004 at eight.
TEST(Fuse, ProductsWithOddRowsArePaddedAtInferenceToo) {
  const auto kernels = [](int columns) {
    FlowMaker m;
    m.op("aten::mm", "[[256,768],[768," + std::to_string(columns) + "]]", half2, "",
         "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_nn_align1>");
    CompileBench s;
    return s.compile(m.step()).plan.works.size();
  };
  EXPECT_EQ(kernels(1001), 2U);
  EXPECT_EQ(kernels(1004), 1U);
}

// 4 x 128 channels of 3136 pixels are too few sums for the GPU: parts, and their sum.
// Norms with running statistics behind a convolution, 32 x 56 x 56 pixels of 96 and of 128
// channels: an element of 96 takes a division more.
TEST(Fuse, ChannelsThatAreNoPowerOfTwoTakeADivision) {
  const auto norm_us = [](const std::string& channels) {
    FlowMaker m;
    add_half_convolution(m, "32,128,56,56", channels + ",128,3,3");
    const std::string each = "[" + channels + "]";
    m.op("aten::cudnn_batch_norm",
         "[[32," + channels + ",56,56]," + each + "," + each + "," + each + "," + each +
             ",[],[],[]]",
         R"(["c10::Half","float","float","float","float","Scalar","Scalar","Scalar"])",
         R"(["","","","","","False","0.1","1e-05"])", "cudnn::bn_fw_inf_1C11_kernel_NCHW");
    CompileBench s;
    return to_us(s.compile(m.step()).plan.works[1].duration);
  };
  const CompileBench s;
  const GeneratedCode& code = s.law.generated;
  const double pixels = 32.0 * 56 * 56, floor = code.pointwise.floor_us;
  EXPECT_NEAR(norm_us("128"), floor + lane_us(s.gpu(), 128 * pixels * code.last_norm_lane_cycles),
              1e-6);
  const double cycles = code.last_norm_lane_cycles + code.divided_lane_cycles;
  EXPECT_NEAR(norm_us("96"), floor + lane_us(s.gpu(), 96 * pixels * cycles), 1e-6);
}

// Norms with running statistics in a model without convolutions: channels are the order of 12.8e6
// features, of 96 channels with a division more; images of as many elements are in the order of
// their pixels, whose norm takes fewer cycles.
TEST(Fuse, NormsOfFeaturesAreThoseOfChannelsLast) {
  const auto norm_us = [](const std::string& rows, const std::string& channels,
                          const std::string& pixels) {
    FlowMaker m;
    const std::string each = ",[" + channels + "]";
    m.op("aten::native_batch_norm",
         "[[" + rows + "," + channels + pixels + "]" + each + each + each + each + ",[],[],[]]",
         R"(["c10::Half","float","float","float","float","Scalar","Scalar","Scalar"])",
         R"(["","","","","","False","0.1","1e-05"])",
         "void at::native::batch_norm_transform_input_kernel<c10::Half>");
    CompileBench s;
    const Step out = s.compile(m.step());
    EXPECT_EQ(out.plan.works.size(), 1U);
    return to_us(out.plan.works[0].duration);
  };
  const CompileBench s;
  const GeneratedCode& code = s.law.generated;
  const double rows = 100352, floor = code.pointwise.floor_us;
  EXPECT_NEAR(norm_us("100352", "128", ""),
              floor + lane_us(s.gpu(), 128 * rows * code.last_norm_lane_cycles), 1e-6);
  const double divided = code.last_norm_lane_cycles + code.divided_lane_cycles;
  EXPECT_NEAR(norm_us("100352", "96", ""), floor + lane_us(s.gpu(), 96 * rows * divided), 1e-6);
  EXPECT_LT(norm_us("32", "128", ",56,56"), norm_us("100352", "128", ""));
}

TEST(Fuse, PooledPixelsAreColumnsInChannelsLastOrder) {
  FlowMaker m;
  add_half_convolution(m, "4,128,56,56", "128,128,3,3");
  m.op("aten::relu", "[[4,128,56,56]]", R"(["c10::Half"])");
  m.op("aten::mean", "[[4,128,56,56],[],[],[]]", R"(["c10::Half","ScalarList","Scalar",""])",
       R"(["","[2, 3]","True",""])");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 3U);
  EXPECT_TRUE(names[1].starts_with("triton_red_fused_mean_relu"));
  EXPECT_TRUE(names[2].starts_with("triton_per_fused_mean_relu"));
}

// Gated channels in 16 bits: the norm is read by the split mean of its activation and again by what
// that scales, so that a kernel of its own stores it, and in FP32, in which both activations
// compute: 4 x 128 x 56 x 56 elements of 2 bytes are read, of 4 written.
TEST(Fuse, AGatedNormIsStoredInTheTypeOfItsActivation) {
  FlowMaker m;
  add_half_convolution(m, "4,128,56,56", "128,128,3,3");
  m.op("aten::cudnn_batch_norm", "[[4,128,56,56],[128],[128],[128],[128],[],[],[]]",
       R"(["c10::Half","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","False","0.1","1e-05"])", "cudnn::bn_fw_inf_1C11_kernel_NCHW");
  m.op("aten::silu", "[[4,128,56,56]]", R"(["c10::Half"])");
  m.op("aten::mean", "[[4,128,56,56],[],[],[]]", R"(["c10::Half","ScalarList","Scalar",""])",
       R"(["","[2, 3]","True",""])");
  add_half_convolution(m, "4,128,1,1", "128,128,3,3");
  m.op("aten::sigmoid", "[[4,128,1,1]]", R"(["c10::Half"])");
  m.op("aten::mul", "[[4,128,56,56],[4,128,1,1]]", R"(["c10::Half","c10::Half"])");
  add_half_convolution(m, "4,128,56,56", "128,128,3,3");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 7U);
  EXPECT_TRUE(names[1].starts_with("triton_poi_fused_cudnn_batch_norm"));
  EXPECT_TRUE(names[2].starts_with("triton_red_fused"));
  EXPECT_TRUE(names[3].starts_with("triton_per_fused"));
  EXPECT_TRUE(names[5].starts_with("triton_poi_fused"));
  const double elements = 4.0 * 128 * 56 * 56, gates = 4.0 * 128;
  double stored = 0;
  for (const FusedKernel& k : s.report.kernels) stored = std::max(stored, k.bytes);
  EXPECT_NEAR(stored, elements * (2 + 4), 4 * gates + 4 * 4 * 128.0);
}

// Weights of 40 rows of 72 that are normalised row by row, beside a layer that the compiler gives
// channels last: a block holds its row, mean, variance and result, as without images.
TEST(Fuse, NormalisedWeightsKeepTheirRows) {
  FlowMaker m;
  add_half_convolution(m, "4,128,16,16", "128,128,3,3", "nchwToNhwcKernel<__half>");
  m.op("aten::native_batch_norm", "[[1,40,72],[40],[],[],[],[],[],[]]",
       R"(["float","float","","","","Scalar","Scalar","Scalar"])",
       R"(["","","","","","True","0.","1e-05"])");
  CompileBench s;
  const Step out = s.compile(m.step());
  ASSERT_EQ(s.report.kernels.size(), 1U);
  EXPECT_TRUE(s.report.kernels[0].name.starts_with("triton_red_fused_native_batch_norm"));
}

}  // namespace
}  // namespace tandem
