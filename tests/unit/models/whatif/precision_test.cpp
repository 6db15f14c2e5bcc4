// Whole steps in another precision: which one they have, what is added to and taken from them.
#include "models/whatif/precision/precision.h"

#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "models/whatif/precision/scaler.h"
#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::precision_bench;
using test::three_floats;
using test::two_floats;
using test::two_linear_layers;

std::vector<std::string> kernels(const Step& step) {
  std::vector<std::string> names;
  for (const DeviceWork& work : step.plan.works) {
    names.emplace_back(step.trace.strings.get(step.trace.activities.name[work.source]));
  }
  return names;
}

Step change(Step step, Precision to, PrecisionReport* report = nullptr,
            const char* gpu = "h200_sxm") {
  const test::PrecisionBench& m = precision_bench();
  LossList losses;
  return with_precision(std::move(step), to, find_gpu(m.gpus, gpu), m.law, m.time, m.names,
                        m.layers, m.host, losses, report);
}

/// Attention of four heads that share two keys: a product, and one of its gradients.
Step shared_keys() {
  test::FlowMaker m;
  const char* const gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_ffma";
  const char* const dims = "[[8,128,64],[8,64,128]]";
  m.around_dims = "[[2,4,128,64],[2,2,128,64],[2,2,128,64]]";
  m.around_types = three_floats;
  m.sequence = 1;
  m.op("aten::_scaled_dot_product_attention_math>aten::bmm", dims, two_floats, "", gemm);
  m.around_dims.clear();
  m.thread = 1;
  m.op("autograd::engine::evaluate_function: BmmBackward0>BmmBackward0>aten::bmm", dims, two_floats,
       "", gemm);
  return m.step();
}

// Forward: semaphores are cleared, then one kernel. Backward: cleared again, row sums, the kernel,
// the queries' gradients in 16 bits, and the gradients of keys and of values added up by head.
TEST(PrecisionKernels, AttentionOfSharedKeysIsOneKernelAPass) {
  PrecisionReport report;
  const std::vector<std::string> names = kernels(change(shared_keys(), Precision::bf16, &report));
  ASSERT_EQ(names.size(), 8U);
  EXPECT_NE(names[1].find("flash_fprop"), std::string::npos) << names[1];
  EXPECT_NE(names[3].find("compute_dot_do_o"), std::string::npos) << names[3];
  EXPECT_NE(names[4].find("flash_bprop"), std::string::npos) << names[4];
  EXPECT_NE(names[5].find("convert_dq"), std::string::npos) << names[5];
  EXPECT_NE(names[6].find("reduce_head"), std::string::npos) << names[6];
  EXPECT_EQ(names[6], names[7]);
  ASSERT_EQ(report.switches.size(), 1U);
  EXPECT_EQ(report.switches[0].count, 2U);
}

// Before Ampere nothing is fused: the products stay, in FP32 between casts.
TEST(PrecisionKernels, AttentionOfSharedKeysStaysProductsOnVolta) {
  const std::vector<std::string> names =
      kernels(change(shared_keys(), Precision::amp, nullptr, "v100_sxm2_32gb"));
  const auto products = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find("gemm") != std::string::npos;
  });
  EXPECT_EQ(products, 2);
}

// And back: FP32 has no fused kernel for them. Two products forward, four backward.
TEST(PrecisionKernels, FusedAttentionOfSharedKeysBecomesProductsInFp32) {
  constexpr const char* half3 = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])";
  const auto products = [&](const char* keys) {
    test::FlowMaker m;
    const std::string key = keys, dims = "[[2,4,128,64]," + key + "," + key + "]";
    m.around_dims = dims, m.around_types = half3;
    m.sequence = 1;
    m.op("aten::scaled_dot_product_attention>aten::_scaled_dot_product_flash_attention", dims,
         half3, "", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_bf16_knob_7");
    m.around_dims.clear();
    m.thread = 1;
    m.op(
        "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0>"
        "aten::_scaled_dot_product_flash_attention_backward",
        "[[2,4,128,64]," + dims.substr(1),
        R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","c10::BFloat16"])", "",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_bf16_knob_26");
    const Step step = change(m.step(), Precision::fp32);
    std::size_t out = 0;
    for (const StringId op : step.trace.ops.name) out += step.trace.strings.get(op) == "aten::bmm";
    return out;
  };
  EXPECT_EQ(products("[2,2,128,64]"), 6U);
  EXPECT_EQ(products("[2,4,128,64]"), 0U);  // no key is shared: fused in FP32, too
}

TEST(Precision, DetectsAndDoesNothingTwice) {
  const Step step = two_linear_layers();
  EXPECT_EQ(traced_precision(step), Precision::fp32);
  EXPECT_EQ(kernels(change(step, Precision::fp32)), kernels(step));
  for (const Precision to : {Precision::tf32, Precision::amp, Precision::bf16}) {
    EXPECT_EQ(traced_precision(change(step, to)), to) << to_string(to);
  }
}

// Attention in FP32 inside of autocast may take most of the time: operations are counted.
TEST(Precision, IsThatOfMostOperationsNotOfMostOfTheTime) {
  test::FlowMaker m;
  const char* const half = R"(["c10::BFloat16","c10::BFloat16"])";
  m.op("aten::mm", "[[64,256],[256,256]]", half, "", "hgemm");
  m.op("aten::mm", "[[64,256],[256,256]]", half, "", "hgemm");
  m.op("aten::bmm", "[[64,256,256],[64,256,256]]", two_floats, "", "sgemm");
  Step step = m.step();
  step.plan.works[2].duration = from_us(1000);
  EXPECT_EQ(traced_precision(step), Precision::bf16w);
}

// Autocast has no say where results are given: three of five products in FP32 tell nothing.
TEST(Precision, IsNotThatOfProductsThatFillGivenResults) {
  const auto detected = [](bool given) {
    test::FlowMaker m;
    for (int i = 0; i < 3; ++i) {
      m.op("aten::mm", given ? "[[64,256],[256,128],[64,128]]" : "[[64,256],[256,128]]",
           given ? R"(["float","float","float"])" : two_floats, "", "sgemm");
    }
    for (int i = 0; i < 2; ++i) {
      m.op("aten::mm", "[[64,256],[256,256]]", R"(["c10::BFloat16","c10::BFloat16"])", "", "hgemm");
    }
    return traced_precision(m.step());
  };
  EXPECT_EQ(detected(true), Precision::bf16w);
  EXPECT_EQ(detected(false), Precision::fp32);
}

TEST(Precision, Bf16AddsTheCastsAndKeepsPlanAndTraceInStep) {
  PrecisionReport report;
  const Step out = change(two_linear_layers(), Precision::bf16, &report);
  // 16 bits of weights, biases and the input, gradients back, and BF16 in front of the softmax.
  EXPECT_EQ(report.casts_added, 8U);
  ASSERT_EQ(out.plan.works.size(), 6U + 8U);
  for (const DeviceWork& work : out.plan.works) {
    EXPECT_EQ(work.duration, out.trace.activities.duration[work.source]);
    EXPECT_GT(work.duration, Duration::zero());
  }
}

TEST(Precision, AmpScalesGradientsAndWaitsForThem) {
  const Step out = change(two_linear_layers(), Precision::amp);
  std::size_t unscale = 0, waits = 0;
  for (const std::string& name : kernels(out)) unscale += name.find("_amp_foreach") != name.npos;
  for (const HostItem& item : out.plan.items) waits += item.kind == ItemKind::sync;
  EXPECT_EQ(unscale, 1U);
  EXPECT_GE(waits, 1U);
}

TEST(Precision, ThereAndBackLeavesTheSameKernels) {
  const Step step = two_linear_layers();
  for (const Precision to : {Precision::amp, Precision::bf16}) {
    PrecisionReport report;
    const Step back = change(change(step, to), Precision::fp32, &report);
    EXPECT_EQ(report.casts_removed, to == Precision::amp ? 7U : 8U) << to_string(to);
    EXPECT_EQ(kernels(back).size(), kernels(step).size()) << to_string(to);
  }
}

/// A table of 100 x 16 and a layer of its size; `tied`: their gradients are added up.
Dataflow table_and_layer(bool tied) {
  Dataflow flow;
  flow.tensors = {{512, DataType::fp32, no_row, 1},
                  {1600, DataType::fp32, no_row, 1},
                  {1600, DataType::fp32, 1, 1},
                  {1600, DataType::fp32, 2, 0}};
  flow.inputs = {{0, 0}, {1, 1}};
  flow.outputs = {2, 3};
  const auto op = [&flow](std::string_view name, FlowPhase phase) -> FlowOp& {
    FlowOp& made = flow.ops.emplace_back();
    made.row = &op_row(name), made.kind = made.row->kind, made.phase = phase;
    return made;
  };
  op("aten::linear", FlowPhase::forward).input_count = 2;
  op("aten::embedding_dense_backward", FlowPhase::backward).output_count = 1;
  if (!tied) return flow;
  FlowOp& sum = op("aten::add", FlowPhase::backward);
  sum.first_output = 1, sum.output_count = 1;
  return flow;
}

TEST(Precision, GradientsOfATableAreALayersOnlyIfTheyAreAddedUp) {
  EXPECT_EQ(gradient_elements(table_and_layer(true)), 1600);
  EXPECT_EQ(gradient_elements(table_and_layer(false)), 2 * 1600);
}

// A second pass through the same layers reaches the same parameters.
TEST(Precision, GradientsThatAreAddedUpAreUnscaledOnce) {
  Dataflow flow = table_and_layer(false);
  const std::vector<FlowOp> pass = flow.ops;
  for (FlowOp op : pass) {
    op.pass = 1;
    flow.ops.push_back(op);
  }
  EXPECT_EQ(gradient_elements(flow), 2 * 1600);
}

}  // namespace
}  // namespace tandem
