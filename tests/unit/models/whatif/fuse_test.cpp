// What a compiler makes of a few operations; times worked out from the constants of the law.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/kernel/classify/classify.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::add_half_convolution;
using test::CompileBench;
using test::FlowMaker;
using test::kernel_names;

constexpr std::string_view float1 = R"(["float"])";
constexpr std::string_view float2 = R"(["float","float"])";

std::size_t generated(const Step& step) {
  const auto names = kernel_names(step);
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(), [](const auto& n) { return n.starts_with("triton_"); }));
}

TEST(Fuse, AChainOfPointwiseOperationsBecomesOneKernelOfItsOuterBytes) {
  FlowMaker m;
  m.op("aten::mul", "[[1024,1024],[1024,1024]]", float2);
  m.op("aten::relu", "[[1024,1024]]", float1);
  m.op("aten::exp", "[[1024,1024]]", float1);
  CompileBench s;
  const Step out = s.compile(m.step());
  ASSERT_EQ(out.plan.works.size(), 1U);
  EXPECT_EQ(kernel_names(out)[0], "triton_poi_fused_exp_mul_relu_0");
  // Two tensors read from DRAM, one written to L2, 4 MiB each, a fifth of which is not kept there;
  // before, every operation wrote and read its own. 32 cycles of arithmetic an element take less,
  // also in narrow threads.
  const double bytes = 3 * 1024.0 * 1024 * 4, dram = s.gpu().dram_peak_gbps * 1e3;
  const GeneratedCode& code = s.law.generated;
  const double kept = 1 - bytes / double(s.gpu().l2_bytes);
  const double us =
      code.pointwise.floor_us +
      kept * (bytes * 2 / 3 / code.cold_dram_share + bytes / 3 / code.pointwise_l2_share) / dram +
      (1 - kept) * bytes / (code.pointwise.dram_share * dram);
  EXPECT_NEAR(to_us(out.plan.works[0].duration), us, 1e-6);
  EXPECT_EQ(s.report.bytes_after, bytes);
  EXPECT_EQ(s.report.bytes_before, 7 * 1024.0 * 1024 * 4);
  EXPECT_EQ(s.report.kernels_before, 3U);
  EXPECT_EQ(s.report.kernels_after, 1U);
}

TEST(Fuse, AMatrixProductSeparatesKernelsAndStays) {
  FlowMaker m;
  m.op("aten::relu", "[[256,256]]", float1);
  m.op("aten::mm", "[[256,256],[256,256]]", float2, "", "sgemm");
  m.op("aten::relu", "[[256,256]]", float1);
  CompileBench s;
  const Step out = s.compile(m.step());
  const auto names = kernel_names(out);
  ASSERT_EQ(names.size(), 3U);
  EXPECT_TRUE(names[0].starts_with("triton_poi"));
  EXPECT_EQ(names[1], "sgemm");
  EXPECT_TRUE(names[2].starts_with("triton_poi"));
}

/// Branches in half precision that are added to an FP32 tensor one after the other; rows of every
/// sum are added up.
Step residual_chain(int branches) {
  FlowMaker m;
  for (int i = 0; i < branches; ++i) {
    m.op("aten::mm", "[[256,256],[256,256]]", R"(["c10::Half","c10::Half"])", "", "hgemm");
    m.op("aten::add", "[[256,256],[256,256],[]]", R"(["float","c10::Half","Scalar"])");
    m.op("aten::sum", "[[256,256],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
         R"(["","[1]","False",""])");
  }
  return m.step();
}

// A sum that takes four operands or fewer is computed by each who reads it: the kernels of five
// branches read 6, 8, 10 and 12 bytes an element; the fourth sum, of five operands, is stored in 4
// bytes, which the fifth kernel reads beside the 2 of its branch. Each adds up 256 rows.
TEST(Fuse, SumsOfFewOperandsAreComputedAgain) {
  CompileBench s;
  const Step out = s.compile(residual_chain(5));
  EXPECT_EQ(generated(out), 5U);
  EXPECT_EQ(s.report.bytes_after, 256.0 * 256 * (6 + 8 + 10 + (12 + 4) + 6) + 5 * 256 * 4);
}

// Gates of 128 channels are rows of their own; the images that they multiply are no rows of theirs.
TEST(Fuse, RowsThatAreSpreadOverImagesStayApart) {
  FlowMaker m;
  m.op("aten::_softmax", "[[32,128],[],[]]", R"(["float","Scalar","Scalar"])",
       R"(["","-1","False"])", "softmax");
  m.op("aten::mul", "[[32,128,28,28],[32,128,1,1]]", float2);
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 2U);
  EXPECT_TRUE(names[0].starts_with("triton_per_fused__softmax"));
  EXPECT_TRUE(names[1].starts_with("triton_poi_fused_mul"));
}

// What is stored anyway - a library kernel reads it - is read, not computed again.
TEST(Fuse, WhatALibraryKernelReadsIsStored) {
  FlowMaker m;
  m.op("aten::relu", "[[256,256]]", float1);
  m.op("aten::mm", "[[256,256],[256,256]]", float2, "", "sgemm");
  m.op("aten::add", "[[256,256],[256,256],[]]", R"(["float","float","Scalar"])");
  CompileBench s;
  EXPECT_EQ(generated(s.compile(m.step())), 2U);
  EXPECT_EQ(s.report.bytes_after, 256.0 * 256 * 4 * (2 + 3));
}

// A product needs what is summed here at once, so that the sum does not wait for the one who scales
// the product by it, although nobody else reads it.
TEST(Fuse, WhatAProductNeedsDoesNotWaitForALaterReader) {
  FlowMaker m;
  m.op("aten::relu", "[[256,512]]", float1);
  m.op("aten::sum", "[[256,512],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[1]","False",""])");
  m.op("aten::mm", "[[256,512],[512,128]]", float2, "", "sgemm");
  m.op("aten::mul", "[[256,128],[256,1]]", float2);
  const auto names = kernel_names(CompileBench().compile(m.step()));
  ASSERT_EQ(names.size(), 3U);
  EXPECT_TRUE(names[0].starts_with("triton_per_fused_relu_sum"));
  EXPECT_EQ(names[1], "sgemm");
  EXPECT_TRUE(names[2].starts_with("triton_poi_fused_mul"));
}

// 4.2e6 elements, an angle each; their bytes take less.
TEST(Fuse, AnglesCostCycles) {
  const auto us = [](std::string_view function) {
    FlowMaker m;
    m.op(function, "[[4096,1024]]", R"(["c10::Half"])");
    CompileBench s;
    const Step out = s.compile(m.step());
    return to_us(out.plan.works[0].duration);
  };
  const CompileBench s;
  const double cycles = s.law.generated.trigonometric_lane_cycles * 4096 * 1024;
  EXPECT_NEAR(us("aten::cos"), s.law.generated.pointwise.floor_us + lane_us(s.gpu(), cycles), 1e-6);
  EXPECT_EQ(us("aten::cos"), us("aten::sin"));
  EXPECT_LT(us("aten::neg"), us("aten::cos"));
}

TEST(Fuse, EqualConversionsOfATensorAreMadeOnce) {
  FlowMaker m;
  m.op("aten::relu", "[[256,256]]", float1);
  for (int i = 0; i < 3; ++i) {
    m.op("aten::copy_", "[[256,256],[256,256],[]]", R"(["c10::Half","float","Scalar"])");
    m.op("aten::mm", "[[256,256],[256,256]]", R"(["c10::Half","c10::Half"])", "", "hgemm");
  }
  CompileBench s;
  const Step out = s.compile(m.step());
  EXPECT_EQ(generated(out), 1U);  // relu and one conversion
  EXPECT_EQ(out.plan.works.size(), 4U);
  // FP32 read, half precision written; the FP32 result has no other reader.
  EXPECT_EQ(s.report.bytes_after, 256.0 * 256 * (4 + 2));
}

TEST(Fuse, BatchNormInTrainingReadsItsOperandForStatisticsAndAgain) {
  FlowMaker m;
  m.op("aten::cudnn_batch_norm", "[[4,64,16,16],[64],[64],[64],[64],[],[],[]]",
       R"(["float","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","True","0.1","1e-05"])", "cudnn::bn_fw_tr_1C11_kernel");
  m.op("aten::relu", "[[4,64,16,16]]", float1);
  CompileBench s;
  const Step out = s.compile(m.step());
  // 1024 neighbours a channel are not split: a block goes over its channel twice.
  const auto names = kernel_names(out);
  ASSERT_EQ(names.size(), 1U);
  EXPECT_TRUE(names[0].starts_with("triton_red_fused_cudnn_batch_norm_relu"));
}

// 64 channels of 100352 pixels: 7 parts and more each, an end, then norm and relu in one.
TEST(Fuse, LongChannelsAreSummedInParts) {
  FlowMaker m;
  m.op("aten::cudnn_batch_norm", "[[32,64,56,56],[64],[64],[64],[64],[],[],[]]",
       R"(["float","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","True","0.1","1e-05"])", "cudnn::bn_fw_tr_1C11_kernel");
  m.op("aten::relu", "[[32,64,56,56]]", float1);
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 3U);
  EXPECT_TRUE(names[0].starts_with("triton_red_fused"));
  EXPECT_TRUE(names[1].starts_with("triton_per_fused"));
  EXPECT_TRUE(names[2].starts_with("triton_poi_fused_cudnn_batch_norm_relu"));
}

// Under a precision the statistics stand before the norm as an operation of their own; the kernels
// of the norm take them anyway.
TEST(Fuse, StatisticsByThemselvesBecomePartOfTheNorm) {
  FlowMaker m;
  const std::string_view half = R"(["c10::BFloat16"])";
  m.op("aten::batch_norm_stats", "[[4,64,16,16]]", half, "",
       "void at::native::batch_norm_collect_statistics_kernel<c10::BFloat16>");
  m.op("aten::cudnn_batch_norm", "[[4,64,16,16],[64],[64],[64],[64],[],[],[]]",
       R"(["c10::BFloat16","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","True","0.1","1e-05"])",
       "void at::native::batch_norm_transform_input_kernel<c10::BFloat16>");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 1U);  // statistics and norm by whole channels
  EXPECT_TRUE(names[0].starts_with("triton_red_fused_cudnn_batch_norm"));
}

TEST(Fuse, BatchNormInInferenceIsPointwise) {
  FlowMaker m;
  m.op("aten::cudnn_batch_norm", "[[4,64,16,16],[64],[64],[64],[64],[],[],[]]",
       R"(["float","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","False","0.1","1e-05"])", "cudnn::bn_fw_inf_1C11");
  m.op("aten::relu", "[[4,64,16,16]]", float1);
  CompileBench s;
  EXPECT_EQ(kernel_names(s.compile(m.step())).size(), 1U);
}

TEST(Fuse, ASumOverRowsIsSplitAndFinished) {
  FlowMaker m;
  m.op("aten::sum", "[[2048,768],[],[],[]]", R"(["c10::Half","ScalarList","Scalar",""])",
       R"(["","[0]","True",""])");
  m.op("aten::copy_", "[[768],[768],[]]", R"(["float","c10::Half","Scalar"])");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  ASSERT_EQ(names.size(), 2U);  // 16 parts of 128 rows; the end writes FP32 at once
  EXPECT_TRUE(names[0].starts_with("triton_red"));
  EXPECT_TRUE(names[1].starts_with("triton_per"));
}

TEST(Fuse, TheStepStaysConsistent) {
  FlowMaker m;
  for (int i = 0; i < 4; ++i) {
    m.op("aten::relu", "[[256,256]]", float1);
    m.op("aten::mm", "[[256,256],[256,256]]", float2, "", "sgemm");
  }
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
  CompileBench s;
  const Step out = s.compile(m.step());
  ASSERT_FALSE(out.plan.works.empty());
  for (const DeviceWork& work : out.plan.works) {
    EXPECT_EQ(work.duration, out.trace.activities.duration[work.source]);
    EXPECT_LT(work.item, out.plan.items.size());
  }
  for (const HostItem& item : out.plan.items) EXPECT_GE(item.gap, Duration::zero());
  EXPECT_EQ(kernel_names(out).back(), "multi_tensor_apply");  // the optimizer is not compiled
  const KernelClass c = classify(kernel_names(out)[0]);
  EXPECT_EQ(c.family, KernelFamily::triton);
}

TEST(Fuse, ScriptsKeepTheKernelsAndSaveHostTime) {
  FlowMaker m;
  for (int i = 0; i < 3; ++i) m.op("aten::relu", "[[256,256]]", float1);
  CompileBench s;
  const Step before = m.step();
  const Step out = s.compile(before, Compiler::torchscript);
  EXPECT_EQ(kernel_names(out), kernel_names(before));
  EXPECT_EQ(s.report.gpu_after_us, s.report.gpu_before_us);
  EXPECT_LT(s.report.host_after_us, s.report.host_before_us);
}

TEST(Fuse, XlaTakesTheLossAsWell) {
  FlowMaker m;
  m.op("aten::relu", "[[256,256]]", float1);
  m.op("aten::mse_loss>aten::pow", "[[256,256]]", float1);
  CompileBench s;
  EXPECT_EQ(s.compile(m.step()).plan.works.size(), 2U);
  EXPECT_EQ(s.compile(m.step(), Compiler::xla).plan.works.size(), 1U);
}

/// A layer of 128 channels in half precision, as it runs with channels last.
void half_layer(FlowMaker& m) {
  m.op("aten::cudnn_convolution", "[[32,64,56,56],[128,64,3,3],[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])",
       "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc");
}

TEST(Fuse, StatisticsOfManyGroupsAreOneKernelOfTheLayersResult) {
  FlowMaker m;
  half_layer(m);
  m.op("aten::group_norm>aten::to>aten::_to_copy>aten::copy_", "[[32,128,56,56],[32,128,56,56]]",
       R"(["float","c10::Half"])");
  m.op("aten::group_norm>aten::native_group_norm", "[[32,128,56,56],[128],[128],[],[],[],[],[]]",
       R"(["float","float","float","Scalar","Scalar","Scalar","Scalar","Scalar"])",
       R"(["","","","32","128","3136","32","1e-05"])", "RowwiseMomentsCUDAKernel<float>");
  CompileBench s;
  s.compile(m.step());
  // 32 x 32 groups fill the GPU: no parts, and the cast to FP32 is part of who reads it.
  ASSERT_EQ(s.report.kernels.size(), 2U);
  EXPECT_NE(s.report.kernels[0].name.find("triton_red"), std::string::npos);
  EXPECT_NE(s.report.kernels[1].name.find("triton_poi"), std::string::npos);
  const double elements = 32.0 * 128 * 56 * 56;
  EXPECT_EQ(s.report.kernels[0].bytes, 2 * elements);
  // The four channels of a group lie side by side: a sector of 32 bytes for every four elements.
  EXPECT_GE(s.report.kernels[0].us, generated_gathered_us(s.gpu(), s.law.generated, elements / 4));
  EXPECT_LT(s.report.kernels[0].us, generated_gathered_us(s.gpu(), s.law.generated, elements / 2));
}

// A softmax over eight experts holds 4096 rows of 8, what it weighs 4096 x 64 x 8: conversions of
// the weights between both do not make one kernel of them.
TEST(Fuse, WhatIsWeighedRunsBesideTheSoftmaxOfItsWeights) {
  FlowMaker m;
  m.op("aten::_softmax", "[[4096,1,8],[],[]]", R"(["float","Scalar","Scalar"])");
  m.op("aten::_to_copy>aten::copy_", "[[4096,1,8],[4096,1,8]]", R"(["c10::Half","float"])");
  m.op("aten::mul", "[[4096,64,8],[4096,1,8]]", R"(["c10::Half","c10::Half"])");
  CompileBench s;
  s.compile(m.step());
  ASSERT_EQ(s.report.kernels.size(), 2U);
  EXPECT_NE(s.report.kernels[1].name.find("triton_poi"), std::string::npos);
}

TEST(Fuse, StatisticsOfGroupNormsAreSplitAndGathered) {
  FlowMaker m;
  add_half_convolution(m, "32,64,56,56", "64,64,3,3");
  m.op("aten::native_group_norm", "[[32,64,56,56],[64],[64],[],[],[],[],[]]",
       R"(["float","float","float","Scalar","Scalar","Scalar","Scalar","Scalar"])",
       R"(["","","","32","64","3136","1","1e-05"])", "RowwiseMomentsCUDAKernel<float>");
  CompileBench s;
  s.compile(m.step());
  // One image has 200704 elements, too many for a block: parts, their sum, and what normalises.
  ASSERT_EQ(s.report.kernels.size(), 3U);
  EXPECT_NE(s.report.kernels[0].name.find("triton_red"), std::string::npos);
  EXPECT_NE(s.report.kernels[1].name.find("triton_per"), std::string::npos);
  EXPECT_NE(s.report.kernels[2].name.find("triton_poi"), std::string::npos);
}

/// Products whose results are joined along columns and then put through an activation.
Step joining_step(int parts, int joins) {
  FlowMaker m;
  for (int i = 0; i < parts; ++i) {
    // Of different numbers of rows, so that the dataflow tells the parts apart.
    const std::string k = std::to_string(64 + 8 * i);
    m.op("aten::mm", "[[1024," + k + "],[" + k + "," + k + "]]", float2, "", "sgemm");
  }
  std::string dims, types;
  int columns = 0;
  for (int i = 0; i < parts; ++i) {
    dims += (i > 0 ? ",[1024," : "[1024,") + std::to_string(64 + 8 * i) + "]";
    types += i > 0 ? ";float" : "float";
    columns += 64 + 8 * i;
  }
  for (int j = 0; j < joins; ++j) {
    m.op("aten::cat", "[[" + dims + "],[]]", R"(["TensorList","Scalar"])", R"(["","1"])",
         "CatArrayBatchedCopy");
    m.op("aten::relu", "[[1024," + std::to_string(columns) + "]]", float1);
  }
  return m.step();
}

// Up to eight operands are read where they are needed.
TEST(Fuse, AShortConcatenationIsPartOfWhatReadsIt) {
  CompileBench s;
  const Step out = s.compile(joining_step(3, 1));
  EXPECT_EQ(generated(out), 1U);
  EXPECT_EQ(out.plan.works.size(), 4U);
}

// Nine operands are copied, each by a kernel of its own, and the activation reads the result.
TEST(Fuse, ALongConcatenationIsCopiedOperandByOperand) {
  CompileBench s;
  EXPECT_EQ(generated(s.compile(joining_step(8, 1))), 1U);
  EXPECT_EQ(generated(s.compile(joining_step(9, 1))), 9U + 1U);
  // A copy serves four concatenations, five take two.
  EXPECT_EQ(generated(s.compile(joining_step(9, 4))), 9U + 4U);
  EXPECT_EQ(generated(s.compile(joining_step(9, 5))), 2 * 9U + 5U);
}

// Forward as one graph, the optimizer beside it.
TEST(Fuse, ReducedOverheadLaunchesTheModelAsOneGraph) {
  FlowMaker m;
  for (int i = 0; i < 4; ++i) {
    m.op("aten::relu", "[[256,256]]", float1);
    m.op("aten::mm", "[[256,256],[256,256]]", float2, "", "sgemm");
  }
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
  CompileBench s;
  const Step plain = s.compile(m.step());
  const Step out = s.compile(m.step(), Compiler::reduce_overhead);
  EXPECT_EQ(s.report.graphs, 1U);
  // The input is copied into the graph.
  ASSERT_EQ(out.plan.works.size(), plain.plan.works.size() + 1);
  std::size_t nodes = 0, graphs = 0;
  for (const DeviceWork& work : out.plan.works) {
    nodes += work.graph_node;
    ASSERT_LT(work.item, out.plan.items.size());
    const HostItem& item = out.plan.items[work.item];
    const auto w = static_cast<std::uint32_t>(&work - out.plan.works.data());
    EXPECT_TRUE(w >= item.first_work && w < item.first_work + item.work_count);
  }
  for (const HostItem& item : out.plan.items) graphs += item.kind == ItemKind::graph_launch;
  EXPECT_EQ(nodes, out.plan.works.size() - 1);
  EXPECT_EQ(graphs, 1U);
}

// CUDA_LAUNCH_BLOCKING=1: a capture launches nothing, so that nothing waits for it.
TEST(Fuse, ReducedOverheadCapturesLaunchesThatWaitForTheirKernels) {
  FlowMaker m;
  for (int i = 0; i < 4; ++i) {
    m.op("aten::relu", "[[256,256]]", float1);
    m.op("aten::mm", "[[256,256],[256,256]]", float2, "", "sgemm");
  }
  Step blocking = m.step();
  for (HostItem& item : blocking.plan.items) {
    if (item.work_count > 0) item.wait = WaitFor::own_work;
  }
  CompileBench s;
  const Step out = s.compile(std::move(blocking), Compiler::reduce_overhead);
  EXPECT_EQ(s.report.graphs, 1U);
  for (const HostItem& item : out.plan.items) {
    if (item.kind == ItemKind::graph_launch) {
      EXPECT_EQ(item.wait, WaitFor::nothing);
    }
  }
}

TEST(Fuse, AWindowReadsEachOfItsPlaces) {
  FlowMaker m;
  m.op("aten::max_pool2d_with_indices", "[[64,64,112,112],[],[],[],[],[]]",
       R"(["c10::Half","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","[3, 3]","[2, 2]","[1, 1]","[1, 1]","False"])");
  CompileBench s;
  const Step out = s.compile(m.step());
  ASSERT_EQ(out.plan.works.size(), 1U);
  // 64 x 64 x 56 x 56 windows of 9 places on every lane of 132 SMs; their bytes, 51 million read
  // and 13 million written elements, take less.
  const double windows = 64.0 * 64 * 56 * 56;
  const double lanes = s.gpu().sm_count * 128.0 * s.gpu().boost_clock_mhz;
  const GeneratedCode& code = s.law.generated;
  const double us = code.pointwise.floor_us + windows * 9 * code.tap_lane_cycles / lanes;
  EXPECT_NEAR(to_us(out.plan.works[0].duration), us, 1e-3 * us);
  // In inference no place is kept: 2 bytes an element and nothing else.
  EXPECT_EQ(s.report.bytes_after, 2 * (windows * 4 + windows));
}

TEST(Fuse, ASumForEachChannelIsNoRowOfItsGroup) {
  FlowMaker m;
  m.op("aten::mul", "[[32,64,56,56],[32,64,56,56]]", float2);
  m.op("aten::sum", "[[32,64,56,56],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[0, 2, 3]","True",""])");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  // The product is a kernel before it; the sums of 100352 elements each are split among blocks.
  ASSERT_GE(names.size(), 3U);
  EXPECT_TRUE(names[0].starts_with("triton_poi_fused_mul_sum"));
  EXPECT_TRUE(names[1].starts_with("triton_red_fused_mul_sum"));
}

TEST(Fuse, NamesOfOptionsAreChecked) {
  EXPECT_EQ(parse_compiler("reduce-overhead"), Compiler::reduce_overhead);
  EXPECT_EQ(parse_attention("auto"), AttentionPath::automatic);

  EXPECT_EQ(parse_compiler("xla"), Compiler::xla);
  EXPECT_EQ(parse_attention("math"), AttentionPath::math);
  EXPECT_THROW(parse_compiler("tvm"), InputError);
  EXPECT_THROW(parse_attention(""), InputError);
}

}  // namespace
}  // namespace tandem
