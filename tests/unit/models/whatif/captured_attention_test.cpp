// Attention that a CUDA graph captures: by products where the mask comes back.
#include "models/whatif/compile/captured_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/arch/gpu_config.h"
#include "models/kernel/kinds.h"
#include "models/whatif/edit/math_attention.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;

constexpr std::string_view not_causal = R"(["","","","","0.","False","0.125","False"])";
constexpr std::string_view dropping = R"(["","","","","0.1","False","0.125","False"])";
constexpr std::string_view causal = R"(["","","","","0.","True","0.125","False"])";
constexpr std::string_view unscaled = R"(["","","","","0.","False","","False"])";

struct Bench {
  GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  FusionLaw law = load_fusion_law(source_path("configs/kernels/fusion.json"));
  TimeConstants time = TimeConstants::load(source_path("configs/kernels/time.json"));
  LibraryNames names = load_library_names(source_path("configs/kernels/libraries.json"));
  LossList losses;
  CapturedAttention report;
  CaptureConstants constants() const { return {find_gpu(gpus, "h200_sxm"), law, time, names}; }
  Step capture(Step step, AttentionPath path = AttentionPath::automatic) {
    losses = {};
    return with_captured_attention(std::move(step), path, constants(), losses, &report);
  }
};

/// A text with one operation of attention: 2 items of 4 heads, 128 tokens, 64 columns.
Step text_step(std::string_view concrete, bool tokens = true, std::string_view type = "c10::Half") {
  FlowMaker m;
  if (tokens) {
    m.op("aten::embedding>aten::index_select", "[[1000,64],[],[256]]",
         R"(["float","Scalar","long int"])");
  }
  const std::string t = "\"" + std::string(type) + "\"";
  m.op("aten::scaled_dot_product_attention",
       "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]",
       "[" + t + "," + t + "," + t + R"(,"","Scalar","Scalar","Scalar","Scalar"])", concrete,
       "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  m.op("aten::relu", "[[256,256]]", R"(["float"])");
  return m.step();
}

std::size_t products(const Step& step) {
  return static_cast<std::size_t>(
      std::count_if(step.plan.works.begin(), step.plan.works.end(), [&](const DeviceWork& work) {
        return step.kernels.of(work.source).family == KernelFamily::gemm;
      }));
}

TEST(CapturedAttention, TheMaskOfATextComesBack) {
  Bench s;
  const Step out = s.capture(text_step(not_causal));
  // Gather and activation stay. In place of one kernel: the mask (two constants, a selection),
  // three conversions, two scalings, three copies, a product, the mask added; softmax, test, all,
  // a constant, a selection; a product, two conversions and a copy of the result.
  EXPECT_EQ(out.plan.works.size(), 2U + 3 + 3 + 2 + 3 + 1 + 1 + 5 + 1 + 2 + 1);
  EXPECT_EQ(products(out), 2U);
  EXPECT_EQ(s.report.operations, 1U);
  EXPECT_NEAR(s.report.fused_us, 8, 1e-9);
  EXPECT_GT(s.report.products_us, 22 * 0.5);
  EXPECT_EQ(s.losses.count("capture_changes_attention"), 1);
  EXPECT_EQ(s.losses.count("capture_may_change_work"), 0);
}

// Whisper's encoder: a table of 1500 positions, all of them in a row, is no text and has no mask.
TEST(CapturedAttention, RowsOfPositionsAreNoText) {
  FlowMaker m;
  m.op("aten::embedding", "[[1500,64],[1500]]", R"(["float","long int"])");
  m.op("aten::scaled_dot_product_attention",
       "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])",
       not_causal, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  Bench s;
  const Step out = s.capture(m.step());
  EXPECT_EQ(out.plan.works.size(), 2U);
  EXPECT_EQ(s.report.operations, 0U);
}

TEST(CapturedAttention, Fp32NeedsNoConversionsAndDropoutAKernelMore) {
  Bench s;
  const std::size_t half = s.capture(text_step(not_causal)).plan.works.size();
  EXPECT_EQ(s.capture(text_step(not_causal, true, "float")).plan.works.size(), half - 5);
  EXPECT_EQ(s.capture(text_step(dropping)).plan.works.size(), half + 1);
}

TEST(CapturedAttention, OtherAttentionKeepsItsKernels) {
  Bench s;
  const std::size_t before = text_step(not_causal).plan.works.size();
  EXPECT_EQ(s.capture(text_step(causal)).plan.works.size(), before);
  EXPECT_EQ(s.capture(text_step(unscaled)).plan.works.size(), before);
  EXPECT_EQ(s.capture(text_step(not_causal, false)).plan.works.size(), before - 1);  // images
  EXPECT_EQ(s.capture(text_step(not_causal), AttentionPath::keep).plan.works.size(), before);
  EXPECT_EQ(s.losses.count("capture_changes_attention"), 0);
  EXPECT_GT(s.capture(text_step(causal), AttentionPath::math).plan.works.size(), before);
}

// Images may have a mask once they are captured: kernels stay, and the reader learns what it adds.
TEST(CapturedAttention, ImagesMayHaveAMaskThatNothingTells) {
  Bench s;
  s.capture(text_step(not_causal, false));
  EXPECT_EQ(s.losses.count("capture_mask_untold"), 1);
  const double untold_us = s.report.untold.more_us;
  s.capture(text_step(not_causal, false), AttentionPath::math);
  EXPECT_NEAR(untold_us, s.report.products_us - s.report.fused_us, 1e-9);
  for (const std::string_view told : {not_causal, causal}) {
    s.capture(text_step(told));
    EXPECT_EQ(s.losses.count("capture_mask_untold"), 0);
    EXPECT_EQ(s.report.untold.more_us, 0);
  }
  s.capture(text_step(not_causal, false), AttentionPath::keep);
  EXPECT_EQ(s.losses.count("capture_mask_untold"), 0);
}

TEST(CapturedAttention, ATraceWithoutArgumentsLeavesItOpen) {
  Bench s;
  s.capture(text_step(""));
  EXPECT_EQ(s.losses.count("capture_may_change_work"), 1);
}

// Queries of 65536 elements are scaled: 8 bytes each.
TEST(CapturedAttention, PassesTakeWhatTheirBytesTake) {
  Bench s;
  MathAttention op;
  op.shape = {.heads = 8, .queries = 128, .keys = 128, .width = 64};
  op.images = 2;
  op.type = DataType::fp16;
  const MathConstants constants{find_gpu(s.gpus, "h200_sxm"), s.time, s.names, 1.2};
  const auto kernels = math_attention(constants, op, false);
  const auto scaling = std::find_if(kernels.begin(), kernels.end(),
                                    [](const NewKernel& k) { return k.op == "aten::mul"; });
  ASSERT_NE(scaling, kernels.end());
  const PointwiseShape once{65536, 1, 1};
  EXPECT_NEAR(scaling->duration_us,
              pointwise_time(find_gpu(s.gpus, "h200_sxm"), once, s.time).time_us, 1e-9);
  // Backward: a product for the gradient of each of the four factors.
  const auto back = math_attention(constants, op, true);
  EXPECT_EQ(std::count_if(back.begin(), back.end(),
                          [](const NewKernel& k) { return k.op == "aten::bmm"; }),
            4);
}

}  // namespace
}  // namespace tandem
