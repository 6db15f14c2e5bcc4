// Gradients as a compiler runs them: interpolation, values added in place, products that autocast
// lowers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/whatif/compile/groups.h"
#include "models/whatif/compile/products.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::add_half_convolution;
using test::CompileBench;
using test::FlowMaker;
using test::kernel_names;
using test::longest_us;

/// So many sectors that values are added to.
double added_us(const CompileBench& compiled, double sectors) {
  return sectors * 32 / (compiled.gpu().l2_read_gbps * 1e3 * compiled.law.generated.added_l2_share);
}

constexpr std::string_view backward_types = R"(["float","ScalarList","ScalarList","Scalar","",""])";
constexpr std::string_view node =
    "autograd::engine::evaluate_function: UpsampleBilinear2DBackward0>UpsampleBilinear2DBackward0>"
    "aten::upsample_bilinear2d_backward";

// Images of 14 x 14 pixels grown to 56 x 56: the gradient's 1 605 632 elements reach four places
// each. Four images of zeros come before, and the kernel takes the adds at the L2's rate. Four
// neighbours meet in one place, so half as many reach a sector together as where two do.
TEST(CompiledGradients, InterpolationAddsEachElementToFourPlaces) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::upsample_bilinear2d", "[[8,64,14,14],[],[],[],[]]",
       R"(["float","ScalarList","Scalar","",""])", R"(["","[56, 56]","False","",""])");
  m.thread = 1;
  m.op(node, "[[8,64,56,56],[],[],[],[],[]]", backward_types,
       R"(["","[56, 56]","[8, 64, 14, 14]","False","",""])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  EXPECT_EQ(out.plan.works.size(), 1U + 4U + 1U);
  const double adds = 4 * 8 * 64 * 56 * 56.0;
  const double us = added_us(compiled, adds / (compiled.law.generated.added_together / 2));
  EXPECT_GT(longest_us(out), us);
  EXPECT_LT(longest_us(out), 1.5 * us);
}

// Lines of 64 places grown to 256 are added to two places each, in two lines of zeros.
TEST(CompiledGradients, InterpolatedLinesAddEachElementToTwoPlaces) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::upsample_linear1d", "[[8,64,64],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[256]","False",""])");
  m.thread = 1;
  m.op(
      "autograd::engine::evaluate_function: UpsampleLinear1DBackward0>UpsampleLinear1DBackward0>"
      "aten::upsample_linear1d_backward",
      "[[8,64,256],[],[],[],[]]", R"(["float","ScalarList","ScalarList","Scalar",""])",
      R"(["","[256]","[8, 64, 64]","False",""])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  EXPECT_EQ(out.plan.works.size(), 1U + 2U + 1U);
}

// 14 x 14 pixels of 64 channels grown to 56 x 56 in a program that trains narrowing layers, which
// keeps the compiler from an order of its own. Where the program's channels lie side by side each
// value reaches its sector alone: `together / 2` times as many sectors as along rows.
TEST(CompiledGradients, InterpolationAddsInTheOrderOfTheProgram) {
  const auto us = [](std::string_view small, bool joins) {
    FlowMaker m;
    m.sequence = 1;
    add_half_convolution(m, "8,256,14,14", "64,256,3,3");
    m.sequence = 2;
    if (joins) {
      m.op("aten::relu", "[[8,64,14,14]]", R"(["float"])");
      m.op("aten::relu", "[[8,32,14,14]]", R"(["float"])");
      m.strides = "[[[12544,1,896,64],[6272,196,14,1]],[]]";
      m.op("aten::cat", "[[[8,64,14,14],[8,32,14,14]],[]]", R"(["TensorList","Scalar"])",
           R"(["","1"])");
    }
    m.sequence = 3;
    m.strides = small;
    m.op("aten::upsample_bilinear2d", "[[8,96,14,14],[],[],[],[]]",
         R"(["float","ScalarList","Scalar","",""])", R"(["","[56, 56]","False","",""])");
    m.strides = "";
    m.thread = 1;
    m.op(node, "[[8,96,56,56],[],[],[],[],[]]", backward_types,
         R"(["","[56, 56]","[8, 96, 14, 14]","False","",""])");
    CompileBench compiled;
    return longest_us(compiled.compile(m.step()));
  };
  CompileBench compiled;
  const double alone = added_us(compiled, 4 * 8 * 96 * 56 * 56.0);
  const double rows = us("[[18816,196,14,1],[],[],[],[]]", false);
  const double channels = us("[[18816,1,1344,96],[],[],[],[]]", false);
  EXPECT_GT(channels, alone);
  EXPECT_LT(rows, alone / 2);
  // Eager joins images of two orders along rows, the compiler in the order of those that have
  // channels last.
  EXPECT_EQ(us("[[18816,196,14,1],[],[],[],[]]", true), channels);
}

void add_rows(FlowMaker& m, std::string_view dims, std::string_view arguments) {
  m.thread = 1;
  m.sequence = 1;
  m.op(
      "autograd::engine::evaluate_function: EmbeddingBackward0>EmbeddingBackward0>"
      "aten::embedding_dense_backward",
      dims, R"(["float","long int","Scalar","Scalar","Scalar"])", arguments);
}

// 32 buckets of 8 heads in FP32 are 32 sectors. 64 x 64 rows of 8 numbers come singly: 1024 for
// each sector in the mean, one after the other.
TEST(CompiledGradients, ValuesOfASmallTableWaitForOneAnother) {
  FlowMaker m;
  add_rows(m, "[[64,64,8],[64,64],[],[],[]]", R"(["","","32","-1","False"])");
  CompileBench compiled;
  const GeneratedCode& code = compiled.law.generated;
  const double us = 64 * 64 * 8 / 32.0 * code.uneven_adds * code.sector_add_us;
  const double longest = longest_us(compiled.compile(m.step()));
  EXPECT_GT(longest, us);
  EXPECT_LT(longest, us + 5);
}

// Distances of 256 x 256 positions, clamped to -16 and 15: 241 x 242 / 2 of them are 15 or more,
// nearly half. The rows of 64 columns come whole, so a sector takes one add for each.
TEST(CompiledGradients, MostDistancesNameTheRowOfTheirBound) {
  FlowMaker m;
  // Bounds of no table, which leave every number as it is.
  m.op("aten::clamp", "[[256,256],[],[]]", R"(["long int","Scalar","Scalar"])",
       R"(["","-9223372036854775808","9223372036854775807"])");
  m.op("aten::clamp", "[[256,256],[],[]]", R"(["long int","Scalar","Scalar"])",
       R"(["","-16","15"])");
  add_rows(m, "[[256,256,64],[256,256],[],[],[]]", R"(["","","32","-1","False"])");
  CompileBench compiled;
  const double us = 241 * 242 / 2.0 * compiled.law.generated.sector_add_us;
  const double longest = longest_us(compiled.compile(m.step()));
  EXPECT_GT(longest, us);
  EXPECT_LT(longest, us + 30);
}

// The compiler makes no code for complex numbers, and code of its own for running sums.
TEST(CompiledGradients, ComplexNumbersStayWithTheFrameworkAndRunningSumsDoNot) {
  const auto works = [](FlowMaker& m) {
    return CompileBench{}.compile(m.step()).plan.works.size();
  };
  FlowMaker complex, real, running;
  for (int i = 0; i < 3; ++i) {
    complex.op("aten::neg", "[[8,512]]", R"(["c10::complex<float>"])");
    real.op("aten::neg", "[[8,512]]", R"(["float"])");
  }
  EXPECT_EQ(works(complex), 3U);
  EXPECT_EQ(works(real), 1U);
  running.op("aten::neg", "[[8,512]]", R"(["float"])");
  running.op("aten::cumsum", "[[8,512],[],[]]", R"(["float","Scalar",""])", R"(["","-1",""])");
  EXPECT_EQ(works(running), 1U);
}

// Gradients of sampled images have no code of their own, those of activations have.
TEST(CompiledGradients, WhatTheCompilerHasNoCodeForStaysWithTheFramework) {
  EXPECT_TRUE(op_row("aten::grid_sampler_2d_backward").is(not_generated));
  const auto names = [](std::string_view gradient) {
    FlowMaker m;
    m.sequence = 1;
    m.op("aten::relu", "[[8,4,32,32]]", R"(["float"])");
    m.thread = 1;
    m.op(std::string(node) + ">" + std::string(gradient), "[[8,4,32,32],[8,4,32,32],[8,32,32,2]]",
         R"(["float","float","float"])", "", "backward");
    return kernel_names(CompileBench{}.compile(m.step()));
  };
  const auto sampled = names("aten::grid_sampler_2d_backward");
  EXPECT_EQ(std::count(sampled.begin(), sampled.end(), "backward"), 1);
  const auto computed = names("aten::threshold_backward");
  EXPECT_EQ(std::count(computed.begin(), computed.end(), "backward"), 0);
}

// The framework copies an image that has its size already; compiled code adds to places anyway.
TEST(CompiledGradients, InterpolationToTheSameSizeIsNotNoticed) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::relu", "[[8,64,56,56]]", R"(["float"])");
  m.thread = 1;
  m.op(std::string(node) + ">aten::copy_", "[[8,64,56,56],[8,64,56,56],[]]",
       R"(["float","float","Scalar"])");
  CompileBench compiled;
  EXPECT_EQ(compiled.compile(m.step()).plan.works.size(), 1U + 4U + 1U);
}

// Each pixel of an image grown to twice its sides takes up four values, two of a row; with channels
// side by side each value reaches its sector alone.
TEST(CompiledGradients, NearestGrowthAddsEachElementToOnePlace) {
  FlowMaker m;
  m.op("aten::upsample_nearest2d_backward", "[[8,64,112,112],[],[],[],[]]",
       R"(["float","ScalarList","ScalarList","",""])",
       R"(["","[112, 112]","[8, 64, 56, 56]","",""])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  EXPECT_EQ(out.plan.works.size(), 1U + 1U);
  const double adds = 8 * 64 * 112 * 112.0;
  const double us = added_us(compiled, adds / compiled.law.generated.added_together);
  EXPECT_GT(longest_us(out), us);
  EXPECT_LT(longest_us(out), 2 * us);
}

// 32 x 1728 x 196 numbers of windows are added to one place each, in an image of zeros. Windows two
// pixels apart leave every second place to others.
TEST(CompiledGradients, FoldedWindowsAreAddedToOnePlace) {
  FlowOp folded, grown;
  folded.row = &op_row("aten::col2im");
  grown.row = &op_row("aten::upsample_bilinear2d_backward");
  EXPECT_EQ(spread_places(folded), 1);
  EXPECT_EQ(spread_places(grown), 4);
  FlowMaker m;
  m.op("aten::col2im", "[[32,1728,196],[],[],[],[],[]]",
       R"(["float","ScalarList","ScalarList","ScalarList","ScalarList","ScalarList"])",
       R"(["","[28, 28]","[3, 3]","[1, 1]","[1, 1]","[2, 2]"])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  EXPECT_EQ(out.plan.works.size(), 1U + 1U);
  const double us =
      added_us(compiled, 32.0 * 1728 * 196 / (compiled.law.generated.added_together / 2));
  EXPECT_GT(longest_us(out), us);
  EXPECT_LT(longest_us(out), 1.5 * us);
}

/// Windows are cut of an activation and put through another; `folds`: and folded, and activated.
Step windows_of_images(bool folds) {
  FlowMaker m;
  m.op("aten::relu", "[[32,192,28,28]]", R"(["float"])");
  m.op("aten::im2col", "[[32,192,28,28],[],[],[],[]]",
       R"(["float","ScalarList","ScalarList","ScalarList","ScalarList"])",
       R"(["","[3, 3]","[1, 1]","[1, 1]","[2, 2]"])");
  m.op("aten::exp", "[[32,1728,196]]", R"(["float"])");
  if (!folds) return m.step();
  m.op("aten::col2im", "[[32,1728,196],[],[],[],[],[]]",
       R"(["float","ScalarList","ScalarList","ScalarList","ScalarList","ScalarList"])",
       R"(["","[28, 28]","[3, 3]","[1, 1]","[1, 1]","[2, 2]"])");
  m.op("aten::relu", "[[32,192,28,28]]", R"(["float"])");
  return m.step();
}

// What is folded is computed by the kernel that adds it to the zeros of another; who reads the
// image is a kernel behind.
TEST(CompiledGradients, ImagesAreReadWhenTheirWindowsAreFolded) {
  CompileBench compiled;
  EXPECT_EQ(compiled.compile(windows_of_images(false)).plan.works.size(), 1U);
  const Step out = compiled.compile(windows_of_images(true));
  EXPECT_EQ(out.plan.works.size(), 1U + 1U + 1U);
}

// Halves added to a table: those that find their place taken wait for each other. 512 values on
// 1024 places do not, 3072 on 1024 do for 2048 of them.
TEST(CompiledGradients, ValuesOnPlacesOfTheirOwnDoNotWait) {
  const auto us = [](int values) {
    FlowMaker m;
    const std::string source = "[1," + std::to_string(values) + "]";
    m.op("aten::scatter_add", "[[1,1024],[]," + source + "," + source + "]",
         R"(["c10::Half","Scalar","long int","c10::Half"])");
    CompileBench compiled;
    return longest_us(compiled.compile(m.step()));
  };
  const CompileBench compiled;
  const double waiting = 2048 * compiled.law.generated.half_add_us;
  EXPECT_LT(us(512), us(1024) + 0.1);
  EXPECT_NEAR(us(3072) - us(1024), waiting, 0.1);
}

// Rows of 64 halves are added in pairs: 3072 of them on 1024 places would wait as lone values,
// (3072 - 1024) x 64 x 1.75 ns = 229 us, and move a megabyte.
TEST(CompiledGradients, NeighboursOfARowDoNotWait) {
  FlowMaker m;
  m.op("aten::index_add_", "[[1024,64],[],[3072],[3072,64]]",
       R"(["c10::Half","Scalar","long int","c10::Half"])", R"(["","0","",""])");
  CompileBench compiled;
  const double lone = 2048 * 64 * compiled.law.generated.half_add_us;
  EXPECT_GT(lone, 200);
  EXPECT_LT(longest_us(compiled.compile(m.step())), 0.1 * lone);
}

// 2 Mi rows of 64 floats each are added: 8 neighbours a sector, 16 Mi sectors.
TEST(CompiledGradients, NeighboursOfARowReachTheL2Together) {
  FlowMaker m;
  m.op("aten::index_add_", "[[65536,64],[],[2097152],[2097152,64],[]]",
       R"(["float","Scalar","long int","float","Scalar"])");
  CompileBench compiled;
  const double us = 16 * 1048576.0 * 32 /
                    (compiled.gpu().l2_read_gbps * 1e3 * compiled.law.generated.added_l2_share);
  const double longest = longest_us(compiled.compile(m.step()));
  EXPECT_GE(longest, us);
  EXPECT_LT(longest, 2 * us);  // with the rows that are read; one by one the values take 8 times us
}

/// A layer in FP16, and attention that multiplies in FP32 inside of autocast; `layers` of the
/// first.
Step step_with_wide_attention(int layers) {
  FlowMaker m;
  const std::string_view half = R"(["c10::Half","c10::Half"])", wide = R"(["float","float"])";
  for (int i = 0; i < layers; ++i) {
    m.sequence = 1 + i;
    m.op("aten::mm", "[[512,256],[256,256]]", half, "", "hgemm");
  }
  m.sequence = 50;
  m.op("aten::bmm", "[[16,64,32],[16,32,64]]", wide, "", "sgemm");
  m.thread = 1;
  const std::string bmm =
      "autograd::engine::evaluate_function: BmmBackward0>BmmBackward0>aten::bmm";
  m.op(bmm, "[[16,64,64],[16,64,32]]", wide, "", "sgemm");
  m.sequence = 1;
  m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
       "[[256,512],[512,256]]", half, "", "hgemm");
  return m.step();
}

TEST(CompiledGradients, AutocastLowersProductsOfTheBackwardPass) {
  const Step step = step_with_wide_attention(2);
  Dataflow flow = dataflow(step);
  lower_backward_products(flow);
  std::vector<DataType> types;
  for (const FlowOp& op : flow.ops) types.push_back(flow.tensors[flow.outputs_of(op)[0]].type);
  EXPECT_EQ(types, (std::vector{DataType::fp16, DataType::fp16, DataType::fp32, DataType::fp16,
                                DataType::fp16}));
  EXPECT_FALSE(is_lowered(step.trace, flow, flow.ops[2]));
  EXPECT_TRUE(is_lowered(step.trace, flow, flow.ops[3]));
  EXPECT_FALSE(is_lowered(step.trace, flow, flow.ops[4]));
  CompileBench compiled;
  const Step out = compiled.compile(step);
  EXPECT_EQ(out.plan.works.size(), 5U);  // one product takes the place of one
}

TEST(CompiledGradients, WithoutAutocastProductsKeepTheirType) {
  const Step step = step_with_wide_attention(0);
  Dataflow flow = dataflow(step);
  lower_backward_products(flow);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[0]].type, DataType::fp32);
}

// Filters over time keep their order: no transform goes.
TEST(CompiledGradients, ConvolutionsOverTimeKeepTheirOrder) {
  FlowMaker m;
  add_half_convolution(m, "4,128,1000", "128,128,3", "nchwToNhwcKernel<__half>");
  CompileBench compiled;
  EXPECT_EQ(compiled.compile(m.step()).plan.works.size(), 1U);
}

/// A norm of channels, then an activation whose gradient `node` and `inner` are; `scaled`: the
/// result is multiplied by one learned number.
Step activated(const std::string& node, const std::string& inner, bool scaled) {
  constexpr std::string_view image = "[[32,64,56,56]]", half = R"(["c10::Half"])";
  constexpr std::string_view two = "[[32,64,56,56],[32,64,56,56]]";
  constexpr std::string_view halves = R"(["c10::Half","c10::Half"])";
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::cudnn_batch_norm", "[[32,64,56,56],[64],[64],[64],[64],[],[],[]]",
       R"(["c10::Half","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","True","0.1","1e-05"])", "cudnn::bn_fw_tr_1C11_kernel");
  m.sequence = 2;
  m.op("aten::hardtanh", image, half);
  m.thread = 1, m.forward_thread = 1;
  const auto back = [&](std::int64_t sequence, const std::string& name, const std::string& op,
                        std::string_view dims, std::string_view types,
                        std::string_view concrete = "") {
    m.sequence = sequence;
    m.op("autograd::engine::evaluate_function: " + name + ">" + name + ">" + op, dims, types,
         concrete);
  };
  if (scaled) {
    back(3, "MulBackward0", "aten::mul", two, halves);
    back(3, "MulBackward0", "aten::sum", "[[32,64,56,56],[],[],[]]",
         R"(["c10::Half","ScalarList","Scalar",""])", R"(["","[0, 1, 2, 3]","False",""])");
  }
  back(2, node, inner, two, halves);
  back(1, "CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward",
       "[[32,64,56,56],[32,64,56,56],[64],[64],[64],[64],[64],[]]",
       R"(["c10::Half","c10::Half","float","float","float","float","float","Scalar"])");
  return m.step();
}

/// Bytes that its kernels pass for each of the 6.4 million elements, more than where the gradient
/// is that of ReLU6 and nothing is scaled.
double more_bytes(const std::string& node, const std::string& inner, bool scaled) {
  const auto bytes = [](const Step& step) {
    CompileBench s;
    s.compile(step);
    return s.report.bytes_after;
  };
  const Step plain = activated("HardtanhBackward0", "aten::hardtanh_backward", false);
  return (bytes(activated(node, inner, scaled)) - bytes(plain)) / (32 * 64 * 56 * 56);
}

// What hardswish's gradient reads is kept in FP32: it is written, read by the sums and read again
// with 2 bytes more each.
TEST(CompiledGradients, SomeReadWhatANormMadeInFp32) {
  EXPECT_GE(more_bytes("HardswishBackward0", "aten::hardswish_backward", false), 3 * 2);
}

// The gradient of one number for a whole tensor is a sum over everything: beside the sums of a norm
// it is a kernel of its own, which reads both factors.
TEST(CompiledGradients, ASumOverEverythingStandsBesideANorm) {
  EXPECT_GE(more_bytes("HardtanhBackward0", "aten::hardtanh_backward", true), 2 * 2);
}

}  // namespace
}  // namespace tandem
