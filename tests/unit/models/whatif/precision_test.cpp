// The precision what-if in parts: types by autocast's rules, laws of single kernels, names, steps.
#include "models/whatif/precision/precision.h"

#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "models/whatif/precision/scaler.h"
#include "models/whatif/precision/types/types.h"
#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

const test::PrecisionBench& models() {
  static const test::PrecisionBench m;
  return m;
}

TensorShape shape(std::initializer_list<std::int64_t> dims, DataType type = DataType::fp32) {
  TensorShape t;
  for (const std::int64_t d : dims) t.dims[t.rank++] = d;
  t.type = type;
  return t;
}
OpTensors operands(std::initializer_list<TensorShape> list) {
  OpTensors out;
  for (const TensorShape& t : list) {
    out.arguments.push_back(static_cast<std::uint8_t>(out.shapes.size()));
    out.shapes.push_back(t);
  }
  return out;
}

constexpr const char* three_floats = R"(["float","float","float","Scalar","Scalar"])";
constexpr const char* two_floats = R"(["float","float"])";

/// Two linear layers of 64 x 256 x 256 with a ReLU between them, softmax, the first layer's
/// weight gradient, and an optimizer.
Step two_layers() {
  test::FlowMaker m;
  const char* const gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_ffma";
  const char* const dims = "[[256],[64,256],[256,256],[],[]]";
  const char* const relu =
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::launch_clamp_scalar<float>, std::array<char*, 2ul> >(int)";
  m.sequence = 1;
  m.op("aten::linear>aten::addmm", dims, three_floats, "", gemm);
  m.sequence = 2;
  m.op("aten::relu", "[[64,256]]", R"(["float"])", "", relu);
  m.sequence = 3;
  m.op("aten::linear>aten::addmm", dims, three_floats, "", gemm);
  m.sequence = 4;
  m.op("aten::_softmax", "[[64,256],[],[]]", R"(["float","Scalar","Scalar"])", "",
       "softmax_warp_forward");
  m.thread = 1;
  m.sequence = 1;
  m.op("autograd::engine::evaluate_function: AddmmBackward0>AddmmBackward0>aten::mm",
       "[[256,64],[64,256]]", two_floats, "", gemm);
  m.thread = 0;
  m.sequence = -1;
  m.op("aten::_foreach_add_", "[[],[],[]]", R"(["TensorList","TensorList","Scalar"])", "",
       "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>>");
  return m.step();
}

std::vector<std::string> kernels(const Step& step) {
  std::vector<std::string> names;
  for (const DeviceWork& work : step.plan.works) {
    names.emplace_back(step.trace.strings.get(step.trace.activities.name[work.source]));
  }
  return names;
}

Step change(Step step, Precision to, PrecisionReport* report = nullptr,
            const char* gpu = "h200_sxm") {
  const test::PrecisionBench& m = models();
  LossList losses;
  return with_precision(std::move(step), to, find_gpu(m.gpus, gpu), m.law, m.time, m.names,
                        m.layers, m.host, losses, report);
}

TEST(PrecisionTypes, AutocastCastsWhatProductsRead) {
  const Step step = two_layers();
  const Dataflow flow = dataflow(step);
  const TypeChange c = autocast(step.trace, flow, DataType::fp16, 256);
  ASSERT_EQ(flow.ops.size(), 6U);
  EXPECT_EQ(c.ops[0], DataType::fp16);
  EXPECT_EQ(c.ops[1], DataType::fp16);  // ReLU follows its operand
  EXPECT_EQ(c.ops[2], DataType::fp16);
  EXPECT_EQ(c.ops[3], DataType::fp32);
  EXPECT_EQ(c.ops[4], DataType::fp16);  // gradients follow the forward product
  // Layer 1 reads bias, input and weight in FP32; layer 2 only bias and weight; softmax reads 16
  // bits and makes FP32 of them without a cast.
  // Gradients of layer 1's bias and weight are cast back after the backward product, which is the
  // last one of the step, so those of layer 2 find no backward work.
  std::size_t before[6] = {}, after[6] = {};
  for (const PlannedCast& cast : c.casts) ++(cast.after ? after : before)[cast.op];
  EXPECT_EQ(before[0], 3U);
  EXPECT_EQ(before[1], 0U);
  EXPECT_EQ(before[2], 2U);
  EXPECT_EQ(before[3], 0U);
  EXPECT_EQ(after[4], 2U);
  EXPECT_EQ(c.casts.size(), 7U);
}

TEST(PrecisionTypes, AutocastLeavesFp64Alone) {
  test::FlowMaker m;
  constexpr const char* two_doubles = R"(["double","double"])";
  m.sequence = 1;
  m.op("aten::mm", "[[64,256],[256,256]]", two_doubles);
  m.sequence = 2;
  m.op("aten::_softmax", "[[64,256],[],[]]", R"(["double","Scalar","Scalar"])");
  m.thread = 1;
  m.sequence = 1;
  m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
       "[[256,64],[64,256]]", two_doubles);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  for (const DataType half : {DataType::fp16, DataType::bf16}) {
    const TypeChange c = autocast(step.trace, flow, half, 256);
    EXPECT_EQ(c.tensors, std::vector(flow.tensors.size(), DataType::fp64));
    EXPECT_EQ(c.ops, std::vector(3, DataType::unknown));
    EXPECT_TRUE(c.casts.empty());
  }
}

/// Attention by products as one batched product, and an operation after it. `fused_width`: as
/// autocast() says.
TypeChange attention_by_products(const std::string& query, const std::string& key,
                                 std::int64_t fused_width = 256) {
  test::FlowMaker m;
  m.sequence = 1;
  m.around_dims = std::string("[").append(query).append(",").append(key).append(",").append(key);
  m.around_dims += "]";
  m.around_types = three_floats;
  m.op("aten::_scaled_dot_product_attention_math>aten::bmm", "[[6,4,8],[6,8,6]]", two_floats);
  m.around_dims.clear();
  m.sequence = 2;
  m.op("aten::relu", "[[6,4,6]]", R"(["float"])");
  const Step step = m.step();
  return autocast(step.trace, dataflow(step), DataType::fp16, fused_width);
}

// [2,1,3,4,8] queries, 6 keys: 192, 288 and 288 elements are turned to FP32 before; after it the
// scores, 2 x 3 x 4 x 6, and the result, 2 x 3 x 4 x 8, back to FP16.
TEST(PrecisionTypes, AttentionByProductsOfFiveDimensionsStaysInFp32) {
  const TypeChange c = attention_by_products("[2,1,3,4,8]", "[2,1,3,6,8]");
  EXPECT_EQ(c.ops[0], DataType::fp32);
  EXPECT_EQ(c.ops[1], DataType::fp16);
  std::vector<std::int64_t> before, after;
  for (const PlannedCast& cast : c.casts) {
    EXPECT_EQ(cast.op, 0U);
    EXPECT_EQ(cast.to, cast.after ? DataType::fp16 : DataType::fp32);
    (cast.after ? after : before).push_back(cast.elements);
  }
  EXPECT_EQ(before, (std::vector<std::int64_t>{192, 288, 288}));
  EXPECT_EQ(after, (std::vector<std::int64_t>{144, 192}));
}

// Of four dimensions it has a fused kernel in 16 bits, for which the product stands.
TEST(PrecisionTypes, AttentionByProductsOfFourDimensionsFollowsItsLayer) {
  EXPECT_EQ(attention_by_products("[2,3,4,8]", "[2,3,6,8]").ops[0], DataType::fp16);
}

// Six heads share three keys: one fused kernel is handed FP16, which queries and keys that nobody
// made are taken to be.
TEST(PrecisionTypes, AttentionByProductsOfSharedKeysIsFused) {
  const TypeChange c = attention_by_products("[2,6,4,8]", "[2,3,6,8]");
  ASSERT_EQ(c.fused.size(), 1U);
  EXPECT_EQ(c.fused[0].first, 0U);
  EXPECT_EQ(c.fused[0].last, 0U);
  EXPECT_EQ(c.ops[0], DataType::fp16);
  EXPECT_EQ(c.ops[1], DataType::fp16);
  EXPECT_TRUE(c.casts.empty());
}

// Where the GPU has no such kernel, or none as wide as the head, products compute in FP32.
TEST(PrecisionTypes, AttentionOfSharedKeysStaysInFp32WithoutAFusedKernel) {
  for (const std::int64_t width : {0, 4}) {
    const TypeChange c = attention_by_products("[2,6,4,8]", "[2,3,6,8]", width);
    EXPECT_TRUE(c.fused.empty());
    EXPECT_EQ(c.ops[0], DataType::fp32);
    EXPECT_EQ(c.ops[1], DataType::fp16);
  }
}

// A layer makes 3 x 32 columns, of which views cut gates of one: they have the layer's type, and so
// no cast stands where they meet another part.
TEST(PrecisionTypes, PartsHaveTheTypeOfTheWhole) {
  const auto casts = [](bool cut) {
    test::FlowMaker m;
    m.sequence = 1;
    m.op("aten::linear>aten::mm", "[[16,32],[32,96]]", two_floats);
    m.sequence = 2;
    m.op("aten::gelu", "[[16,96]]", R"(["float"])");
    if (cut)
      m.idle("aten::split_with_sizes", "[[16,96],[],[]]", R"(["float","ScalarList","Scalar"])");
    m.sequence = 3;
    m.op("aten::mul", "[[16,96],[16,1]]", two_floats);
    const Step step = m.step();
    const TypeChange c = autocast(step.trace, dataflow(step), DataType::fp16, 256);
    return c.ops[2];
  };
  EXPECT_EQ(casts(true), DataType::fp16);
  EXPECT_EQ(casts(false), DataType::fp32);  // gates that were there before the step
}

// A border of zeros around what a layer made is of its type; zeros of their own stay FP32.
TEST(PrecisionTypes, BordersHaveTheTypeOfWhatTheySurround) {
  for (const bool around : {false, true}) {
    test::FlowMaker m;
    m.op("aten::linear>aten::mm", "[[16,32],[32,64]]", two_floats);
    if (around) m.around_dims = "[[16,64],[],[]]", m.around_types = R"(["float","ScalarList",""])";
    m.op("aten::constant_pad_nd>aten::fill_", "[[18,64],[]]", R"(["float","Scalar"])");
    const Step step = m.step();
    const TypeChange c = autocast(step.trace, dataflow(step), DataType::fp16, 256);
    EXPECT_EQ(c.ops[1], around ? DataType::fp16 : DataType::fp32);
  }
}

// Logits [2,8,64] without the last position: 7 of 8 rows are copied, then the loss reads FP32.
TEST(PrecisionTypes, RowsOfLogitsHaveTheirType) {
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::linear>aten::mm", "[[16,32],[32,64]]", two_floats);
  m.sequence = 2;
  m.op("aten::reshape>aten::clone>aten::copy_", "[[2,7,64],[2,7,64]]", two_floats);
  m.sequence = 3;
  m.op("aten::_log_softmax", "[[14,64],[],[]]", R"(["float","Scalar","Scalar"])");
  const Step step = m.step();
  const TypeChange c = autocast(step.trace, dataflow(step), DataType::bf16, 256);
  EXPECT_EQ(c.ops[1], DataType::bf16);
  const auto of_loss = [](const PlannedCast& cast) { return cast.op == 2; };
  ASSERT_EQ(std::count_if(c.casts.begin(), c.casts.end(), of_loss), 1);
  EXPECT_EQ(std::find_if(c.casts.begin(), c.casts.end(), of_loss)->elements, 14 * 64);
}

// The caller's place for the result is FP32, and so are the factors: nothing is cast. The same
// product without it reads both factors in 16 bits.
TEST(PrecisionTypes, AProductThatFillsAGivenResultKeepsItsType) {
  test::FlowMaker m;
  m.op("aten::mm", "[[64,256],[256,128],[64,128]]", R"(["float","float","float"])");
  m.op("aten::mm", "[[64,512],[512,128]]", two_floats);
  const Step step = m.step();
  for (const DataType half : {DataType::fp16, DataType::bf16}) {
    const TypeChange c = autocast(step.trace, dataflow(step), half, 256);
    EXPECT_EQ(c.ops, (std::vector{DataType::fp32, half}));
    EXPECT_EQ(c.policies, (std::vector{CastPolicy::promote, CastPolicy::lower}));
    EXPECT_EQ(c.casts.size(), 2U);
    for (const PlannedCast& cast : c.casts) EXPECT_EQ(cast.op, 1U);
  }
}

TEST(PrecisionTypes, PoliciesFollowTheFrameworksLists) {
  EXPECT_EQ(cast_policy("aten::mm"), CastPolicy::lower);
  EXPECT_EQ(cast_policy("aten::_softmax"), CastPolicy::widen);
  EXPECT_EQ(cast_policy("aten::linalg_vector_norm"), CastPolicy::widen);
  EXPECT_EQ(cast_policy("aten::_log_softmax"), CastPolicy::full);
  EXPECT_EQ(cast_policy("aten::pow"), CastPolicy::full);
  EXPECT_EQ(cast_policy("aten::mul"), CastPolicy::promote);
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

TEST(PrecisionKernels, CastsMoveSixBytesAnElement) {
  const RetimeContext c = models().context();
  // 8e6 elements: 48e6 bytes over share x rate, behind the floor.
  const double rate = c.gpu.dram_peak_gbps * 1e3;
  EXPECT_NEAR(cast_us(c, 8'000'000, DataType::fp32, DataType::fp16),
              c.law.cast_down.floor_us + 48e6 / (c.law.cast_down.dram_share * rate), 1e-9);
  EXPECT_NEAR(cast_us(c, 8'000'000, DataType::bf16, DataType::fp32),
              c.law.cast_up.floor_us + 48e6 / (c.law.cast_up.dram_share * rate), 1e-9);
}

KernelTime matmul(const OpTensors& operands, DataType type) {
  static const LaunchGeometry none;
  return matmul_time(models().context(), OpContext{"aten::mm", operands, {}, none}, type);
}

TEST(PrecisionKernels, TensorCoreProductsAreFasterAndOddOnesLessSo) {
  const OpTensors even = operands({shape({2048, 1024}), shape({1024, 1024})});
  const OpTensors odd = operands({shape({2048, 1024}), shape({1024, 1023})});
  const double fp32 = matmul(even, DataType::fp32).time_us;
  const double tf32 = matmul(even, DataType::tf32).time_us;
  const double fp16 = matmul(even, DataType::fp16).time_us;
  EXPECT_LT(fp16, tf32);
  EXPECT_LT(tf32, fp32);
  EXPECT_GT(matmul(odd, DataType::fp16).time_us, 1.5 * fp16);
  EXPECT_EQ(matmul(operands({shape({4})}), DataType::fp16).time_us, 0);
}

/// A matrix of rows x columns whose rows (or columns) are contiguous.
TensorShape matrix(std::int64_t rows, std::int64_t columns, bool rows_contiguous) {
  TensorShape t = shape({rows, columns});
  t.strides[0] = rows_contiguous ? columns : 1;
  t.strides[1] = rows_contiguous ? 1 : rows;
  return t;
}

TEST(PrecisionKernels, Tf32ProductsPayForOperandsWithoutKInnermost) {
  const auto us = [&](bool a_rows, bool b_rows, std::int64_t n, DataType type) {
    return matmul(operands({matrix(2048, 1024, a_rows), matrix(1024, n, b_rows)}), type).time_us;
  };
  // k runs along the rows of the first and down the columns of the second factor.
  const double none = us(true, false, 1024, DataType::tf32);
  const double one = us(true, true, 1024, DataType::tf32);
  const double both = us(false, true, 1024, DataType::tf32);
  EXPECT_LT(none, one);
  EXPECT_LT(one, both);
  // Rows of 1023 x 4 bytes go another way, and 16-bit operands are read either way round.
  EXPECT_EQ(us(true, false, 1023, DataType::tf32), us(false, true, 1023, DataType::tf32));
  EXPECT_EQ(us(true, false, 1024, DataType::fp16), us(false, true, 1024, DataType::fp16));
}

TEST(Precision, DetectsAndDoesNothingTwice) {
  const Step step = two_layers();
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
  EXPECT_EQ(traced_precision(step), Precision::bf16);
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
  EXPECT_EQ(detected(true), Precision::bf16);
  EXPECT_EQ(detected(false), Precision::fp32);
}

TEST(Precision, Bf16AddsTheCastsAndKeepsPlanAndTraceInStep) {
  PrecisionReport report;
  const Step out = change(two_layers(), Precision::bf16, &report);
  // 16 bits of weights, biases and the input, gradients back, and BF16 in front of the softmax.
  EXPECT_EQ(report.casts_added, 8U);
  ASSERT_EQ(out.plan.works.size(), 6U + 8U);
  for (const DeviceWork& work : out.plan.works) {
    EXPECT_EQ(work.duration, out.trace.activities.duration[work.source]);
    EXPECT_GT(work.duration, Duration::zero());
  }
}

TEST(Precision, AmpScalesGradientsAndWaitsForThem) {
  const Step out = change(two_layers(), Precision::amp);
  std::size_t unscale = 0, waits = 0;
  for (const std::string& name : kernels(out)) unscale += name.find("_amp_foreach") != name.npos;
  for (const HostItem& item : out.plan.items) waits += item.kind == ItemKind::sync;
  EXPECT_EQ(unscale, 1U);
  EXPECT_GE(waits, 1U);
}

TEST(Precision, ThereAndBackLeavesTheSameKernels) {
  const Step step = two_layers();
  for (const Precision to : {Precision::amp, Precision::bf16}) {
    PrecisionReport report;
    const Step back = change(change(step, to), Precision::fp32, &report);
    EXPECT_EQ(report.casts_removed, to == Precision::amp ? 7U : 8U) << to_string(to);
    EXPECT_EQ(kernels(back).size(), kernels(step).size()) << to_string(to);
  }
}

// Rows of 49 are 98 bytes in FP16, no multiple of 16: all of the time is 2.2 times that of the same
// tiles with rows of 56, less the smaller operands' share of it.
TEST(Precision, ManyProductsWithUnalignedRowsTakeLonger) {
  const auto time = [](std::int64_t columns) {
    const OpTensors factors = operands({shape({3072, columns, 32}), shape({3072, 32, columns})});
    static const LaunchGeometry none;
    return matmul_time(models().context(), OpContext{"aten::bmm", factors, {}, none},
                       DataType::fp16)
        .time_us;
  };
  const double ratio = models().law.products.half.batch_ratio;
  EXPECT_LT(time(49), ratio * time(56));
  EXPECT_GT(time(49), 0.8 * ratio * time(56));
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
