// Types of tensors and operations by autocast's rules.
#include <gtest/gtest.h>

#include "models/whatif/precision/types/types.h"
#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::three_floats;
using test::two_floats;
using test::two_linear_layers;

TEST(PrecisionTypes, AutocastCastsWhatProductsRead) {
  const Step step = two_linear_layers();
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

// A cross entropy asks for the logarithms of its scores in their own type, so that autocast leaves
// them, and converts them for what it picks. Programs other than nanoGPT's convert scores before.
TEST(PrecisionTypes, LogarithmsOfPlainScoresStayInSixteenBits) {
  const auto types = [](const char* ignored) {
    test::FlowMaker m;
    m.sequence = 1;
    m.op("aten::linear>aten::addmm", "[[64],[64,256],[256,64]]", three_floats);
    m.sequence = 2;
    m.op("aten::_log_softmax", "[[64,64],[],[]]", R"(["float","Scalar","Scalar"])");
    m.sequence = 3;
    m.op("aten::nll_loss_forward", "[[64,64],[64],[],[],[]]",
         R"(["float","long int","","Scalar","Scalar"])", ignored);
    const Step step = m.step();
    return autocast(step.trace, dataflow(step), DataType::bf16, 1).ops;
  };
  const auto plain = types(R"(["","","","1","-1"])"), usual = types(R"(["","","","1","-100"])");
  ASSERT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain[1], DataType::bf16);
  EXPECT_EQ(plain[2], DataType::fp32);
  EXPECT_EQ(usual[1], DataType::fp32);
  EXPECT_EQ(usual[2], DataType::fp32);
}

// An image of 16 bits is sampled at places in FP32: autocast converts it before, where most
// operations read both types.
TEST(PrecisionTypes, AutocastConvertsASampledImageToTheTypeOfItsPlaces) {
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::linear>aten::addmm", "[[64],[64,256],[256,64]]", three_floats);
  m.sequence = 2;
  m.op("aten::exp", "[[1,8,8,2]]", R"(["float"])");
  m.sequence = 3;
  m.op("aten::grid_sampler>aten::cudnn_grid_sampler", "[[1,64,8,8],[1,8,8,2]]", two_floats);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  ASSERT_EQ(flow.ops.size(), 3U);
  const TypeChange c = autocast(step.trace, flow, DataType::fp16, 1);
  EXPECT_EQ(c.ops[0], DataType::fp16);
  EXPECT_EQ(c.ops[2], DataType::fp32);
  const auto casts = std::count_if(c.casts.begin(), c.casts.end(), [](const PlannedCast& cast) {
    return cast.op == 2 && !cast.after && cast.elements == 64 * 64 && cast.to == DataType::fp32;
  });
  EXPECT_EQ(casts, 1);
}

/// A compiled graph, forward and backward under one node: a layer, a norm that adds what came in
/// and makes the next layer's operand, that layer; the gradient of its input.
Step compiled_layers() {
  test::FlowMaker m;
  constexpr const char* three = R"(["float","float","float"])";
  constexpr const char* layer = "[[512,256],[256,256],[512,256]]";
  m.sequence = 7;
  m.op("CompiledFunction>aten::mm", layer, three);
  m.op("CompiledFunction>triton_per_fused_add_native_layer_norm_0",
       "[[512,256],[512,256],[256],[512,256]]", R"(["float","float","float","float"])");
  m.op("CompiledFunction>aten::mm", layer, three);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::mm", layer, three);
  return m.step();
}

// Layers of a graph are lowered by what they are, forward and backward, whatever the node's last
// operation was. What the norm makes for the layer alone has 16 bits though its sum has 32; a cast
// of what kernels of the graph make is part of them, one of a weight is a kernel of its own.
TEST(PrecisionTypes, AutocastWithinACompiledGraphLowersEachLayer) {
  const Step step = compiled_layers();
  const Dataflow flow = dataflow(step);
  ASSERT_EQ(flow.ops.size(), 4U);
  const TypeChange c = autocast(step.trace, flow, DataType::bf16, 256);
  for (const std::size_t layer : {0U, 2U, 3U}) EXPECT_EQ(c.ops[layer], DataType::bf16) << layer;
  EXPECT_EQ(c.ops[1], DataType::fp32);  // the widest of its large operands
  const auto made = flow.outputs_of(flow.ops[1]);
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(c.tensors[made.back()], DataType::bf16);
  ASSERT_FALSE(c.casts.empty());
  for (const PlannedCast& cast : c.casts) EXPECT_TRUE(cast.parameter);
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

}  // namespace
}  // namespace tandem
