// What the operations of one autograd node read.
#include "models/step/binding/node_operands.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::maker_of;

constexpr std::string_view float2 = R"(["float","float"])";
const std::string node = "autograd::engine::evaluate_function: ";

/// Behind what a test is about: a relu of `dims`, numbered `sequence`, and its gradient, which is
/// what the next node is given.
void relu_and_back(FlowMaker& m, const std::string& dims, std::int64_t sequence) {
  m.sequence = sequence;
  m.op("aten::relu", "[" + dims + "]", R"(["float"])");
  m.thread = 1;
  m.op(node + "ReluBackward0>aten::threshold_backward", "[" + dims + "," + dims + "]", float2);
}

// The gradient of a product meets each of its factors once.
TEST(NodeOperands, TheGradientOfAProductIsMultipliedByEachFactor) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::sigmoid", "[[8,16]]", R"(["float"])");
  m.sequence = 3;
  m.op("aten::mul", "[[8,16],[8,16]]", float2);
  relu_and_back(m, "[8,16]", 4);
  m.sequence = 3;
  m.op(node + "MulBackward0>aten::mul", "[[8,16],[8,16]]", float2);
  m.within_last = true;
  m.op(node + "MulBackward0>aten::mul", "[[8,16],[8,16]]", float2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 7U);
  EXPECT_EQ(maker_of(flow, 5, 0), 4U);
  EXPECT_EQ(maker_of(flow, 6, 0), 4U);
  const std::set<std::uint32_t> factors{maker_of(flow, 5, 1), maker_of(flow, 6, 1)};
  EXPECT_EQ(factors, (std::set<std::uint32_t>{0, 1}));
}

// A tensor is split in two halves, which go through a sine each: the node of the split puts the
// halves' gradients side by side. Nothing that was kept forward is as large but the sines.
TEST(NodeOperands, WhatIsPutSideBySideAreGradients) {
  FlowMaker m;
  m.sequence = 2;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 3;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.thread = 1;
  for (const std::int64_t sequence : {3, 2}) {
    m.sequence = sequence;
    m.op(node + "TanhBackward0>TanhBackward0>aten::tanh_backward", "[[8,16],[8,16]]", float2);
  }
  m.sequence = 1;
  m.op(node + "SplitBackward0>SplitBackward0>aten::cat", "[[[8,16],[8,16]],[]]",
       R"(["TensorList","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  std::set<std::uint32_t> joined;
  for (const FlowUse& use : flow.inputs_of(flow.ops[4])) {
    joined.insert(flow.tensors[use.tensor].producer);
  }
  EXPECT_EQ(joined, (std::set<std::uint32_t>{2, 3}));
}

// A layer in 16 bits is scaled in FP32: of its two products with the gradient, one by the scale and
// one by the layer's result, the second is summed up, so that the first is converted back.
TEST(NodeOperands, WhatNobodyHasReadYetIsConverted) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::linear>aten::addmm", "[[16],[8,16],[16,16],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])");
  m.sequence = 2;
  m.op("aten::mul", "[[8,16],[16]]", R"(["c10::Half","float"])");
  relu_and_back(m, "[8,16]", 3);
  m.sequence = 2;
  m.op(node + "MulBackward0>aten::mul", "[[8,16],[16]]", float2);
  m.within_last = true;
  m.op(node + "MulBackward0>aten::mul", "[[8,16],[8,16]]", R"(["float","c10::Half"])");
  m.op(node + "MulBackward0>aten::sum", "[[8,16],[]]", R"(["float","ScalarList"])",
       R"(["","[0]"])");
  m.op(node + "MulBackward0>aten::copy_", "[[8,16],[8,16],[]]",
       R"(["c10::Half","float","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 8U);
  EXPECT_EQ(maker_of(flow, 6, 0), 5U);
  EXPECT_EQ(maker_of(flow, 7, 1), 4U);
}

// Of sums with a product: the gradient times a constant, then that times the factor that was kept.
TEST(NodeOperands, AGradientTimesAConstantMeetsTheFactorThatWasKept) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::addcmul", "[[16],[16],[8,16],[]]", R"(["float","float","float","Scalar"])");
  m.thread = 1;
  m.sequence = 3;
  m.op(node + "NegBackward0>NegBackward0>aten::neg", "[[8,16]]", R"(["float"])");
  m.sequence = 2;
  const std::string product = node + "AddcmulBackward0>AddcmulBackward0>aten::mul";
  m.op(product, "[[8,16],[]]", R"(["float","Scalar"])");
  m.within_last = true;
  m.op(product, "[[8,16],[8,16]]", R"(["float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(flow.ops[3].root, flow.ops[4].root);
  const auto factors = flow.inputs_of(flow.ops[4]);
  ASSERT_EQ(factors.size(), 2U);
  EXPECT_EQ(flow.tensors[factors[0].tensor].producer, 3U);
  EXPECT_EQ(flow.tensors[factors[1].tensor].producer, 0U);
}

// Scores of 4 x 4 from 4 x 16 queries and keys: the keys' gradient comes first and reads the
// queries beside the gradient, then that of the queries reads the keys, which are as large.
TEST(NodeOperands, TheGradientOfAMatrixProductMeetsEachMatrixOnce) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[2,4,16]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::sigmoid", "[[2,16,4]]", R"(["float"])");
  m.sequence = 3;
  m.op("aten::bmm", "[[2,4,16],[2,16,4]]", float2);
  relu_and_back(m, "[2,4,4]", 4);
  m.sequence = 3;
  m.op(node + "BmmBackward0>aten::bmm", "[[2,16,4],[2,4,4]]", float2);
  m.within_last = true;
  m.op(node + "BmmBackward0>aten::bmm", "[[2,4,4],[2,4,16]]", float2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 7U);
  EXPECT_EQ(maker_of(flow, 5, 0), maker_of(flow, 2, 0));
  EXPECT_EQ(maker_of(flow, 5, 1), 4U);
  EXPECT_EQ(maker_of(flow, 6, 0), 4U);
  EXPECT_EQ(maker_of(flow, 6, 1), maker_of(flow, 2, 1));
  EXPECT_NE(maker_of(flow, 2, 0), maker_of(flow, 2, 1));
}

// The gradient of a softmax is multiplied by its result inside of an operation that was handed it.
TEST(NodeOperands, WithinAGradientThatReadsTheResultPartsReadIt) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::_softmax", "[[8,16],[],[]]", R"(["float","Scalar","Scalar"])");
  relu_and_back(m, "[8,16]", 3);
  m.sequence = 2;
  m.op(node + "SoftmaxBackward0>aten::_softmax_backward_data>aten::mul", "[[8,16],[8,16]]", float2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 4, 0), 3U);
  EXPECT_EQ(maker_of(flow, 4, 1), 1U);  // the softmax, not what it read
}

/// A tanh, its square, and what the node of the square's gradient runs first: `op` on `dims`.
Dataflow square_and_back(const std::string& op, std::string_view dims, std::string_view types) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::pow", "[[8,16],[]]", R"(["float","Scalar"])");
  relu_and_back(m, "[8,16]", 3);
  m.sequence = 2;
  m.op(node + "PowBackward0>" + op, dims, types);
  return dataflow(m.step());
}

// Of a square: the power of what was squared comes first, and no gradient has a power.
TEST(NodeOperands, APowerInAGradientIsThatOfWhatWasKept) {
  const Dataflow flow = square_and_back("aten::pow", "[[8,16],[]]", R"(["float","Scalar"])");
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 4, 0), 0U);
}

// The first power of a square's operand is a copy of it, inside of the power.
TEST(NodeOperands, ACopyThatStandsForAPowerReadsWhatWasKept) {
  const Dataflow flow = square_and_back("aten::pow>aten::copy_", "[[8,16],[8,16],[]]",
                                        R"(["float","float","Scalar"])");
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 4, 1), 0U);
}

// A norm by hand: squares are summed, then what was squared is divided by the root of the sum.
TEST(NodeOperands, WhatWasSquaredAndSummedIsReadAgainNotItsSquares) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.op("aten::pow", "[[8,16],[]]", R"(["float","Scalar"])");
  m.op("aten::sum", "[[8,16],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[1]","True",""])");
  m.op("aten::mul", "[[8,16],[8,1]]", float2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 2, 0), 1U);
  EXPECT_EQ(maker_of(flow, 3, 0), 0U);
}

// ReLU6: its gradient reads the operand, or the result where that has overwritten it.
TEST(NodeOperands, AGradientReadsTheResultOnlyOfWhatRanInPlace) {
  for (const bool in_place : {false, true}) {
    FlowMaker m;
    m.sequence = 1;
    m.op("aten::tanh", "[[8,16]]", R"(["float"])");
    m.sequence = 2;
    m.op(in_place ? "aten::hardtanh_>aten::clamp" : "aten::hardtanh>aten::clamp", "[[8,16],[],[]]",
         R"(["float","Scalar","Scalar"])");
    relu_and_back(m, "[8,16]", 3);
    m.sequence = 2;
    m.op(node + "HardtanhBackward0>HardtanhBackward0>aten::hardtanh_backward", "[[8,16],[8,16]]",
         float2);
    const Dataflow flow = dataflow(m.step());
    ASSERT_EQ(flow.ops.size(), 5U);
    EXPECT_EQ(maker_of(flow, 4, 1), in_place ? 1U : 0U);
  }
}

}  // namespace
}  // namespace tandem
