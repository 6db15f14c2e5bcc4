// Which operation feeds which, on steps of a few operations (what is the model:
// dataflow_model_test.cpp).
#include "models/step/dataflow.h"

#include <gtest/gtest.h>

#include "tests/unit/models/step/training_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::backward_node;
using test::FlowMaker;
using test::half2;
using test::maker_of;
using test::small_training;
using test::two_floats;

TEST(Dataflow, BindsOperandsToTheLatestTensorOfTheirSizeAndType) {
  FlowMaker m;
  m.op("aten::copy_", "[[8,16],[8,16],[]]", R"(["c10::Half","float","Scalar"])");
  m.op("aten::mm", "[[8,16],[16,4]]", half2);
  m.op("aten::relu", "[[8,4]]", R"(["c10::Half"])");
  m.op("aten::add", "[[8,4],[8,4],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 0, 1), no_row);  // the FP32 original comes from outside
  EXPECT_EQ(maker_of(flow, 1, 0), 0U);
  EXPECT_EQ(maker_of(flow, 1, 1), no_row);  // a weight
  EXPECT_EQ(maker_of(flow, 2, 0), 1U);
  EXPECT_EQ(maker_of(flow, 3, 0), 2U);  // relu
  EXPECT_EQ(maker_of(flow, 3, 1), 1U);  // two operands are two tensors
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[0]].elements, 8 * 4);
}

/// Of a step of the one operation.
bool fills_result(std::string_view name, std::string_view dims, std::string_view types) {
  FlowMaker m;
  m.op(name, dims, types);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  EXPECT_EQ(flow.ops.size(), 1U) << name;
  return flow.ops.size() == 1 && fills_given_result(step.trace, flow.ops[0]);
}

// A tensor behind the factors is the place for the result; what is added to a product stands before
// them, and a bias of a layer is none of its factors.
TEST(Dataflow, AProductFillsTheResultThatItIsGiven) {
  constexpr std::string_view float3 = R"(["float","float","float"])";
  EXPECT_FALSE(fills_result("aten::mm", "[[8,16],[16,4]]", two_floats));
  EXPECT_TRUE(fills_result("aten::mm", "[[8,16],[16,4],[8,4]]", float3));
  EXPECT_TRUE(fills_result("aten::bmm", "[[2,8,16],[2,16,4],[2,8,4]]", float3));
  EXPECT_FALSE(fills_result("aten::addmm", "[[4],[8,16],[16,4],[],[]]",
                            R"(["float","float","float","Scalar","Scalar"])"));
  EXPECT_TRUE(fills_result("aten::addmm", "[[4],[8,16],[16,4],[],[],[8,4]]",
                           R"(["float","float","float","Scalar","Scalar","float"])"));
  EXPECT_FALSE(fills_result("aten::linear", "[[8,16],[4,16],[4]]", float3));
  EXPECT_FALSE(fills_result("aten::add", "[[8,4],[8,4],[8,4]]", float3));  // no product
}

// 16 rows of 16 columns are as large as the weights of a layer of 16; the second layer's weight is
// none of them. One that the step computes of another parameter, or a copy of one, is the weight.
TEST(Dataflow, AWeightAsLargeAsAnActivationIsNone) {
  constexpr std::string_view float3 = R"(["float","float","float","Scalar","Scalar"])";
  constexpr std::string_view layer = "[[16],[16,16],[16,16],[],[]]";
  FlowMaker m;
  m.op("aten::addmm", layer, float3);
  m.op("aten::relu", "[[16,16]]", R"(["float"])");
  m.op("aten::addmm", layer, float3);
  m.op("aten::mul", "[[16,1],[1,16]]", two_floats);  // of two parameters of 16
  m.op("aten::addmm", layer, float3);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 2, 1), 1U);      // the activation
  EXPECT_EQ(maker_of(flow, 2, 2), no_row);  // the weight, though relu made as many elements
  EXPECT_EQ(maker_of(flow, 4, 2), 3U);
}

TEST(Dataflow, ConvolutionsHaveTheOutputOfTheirStrideAndPadding) {
  FlowMaker m;
  // 56 + 2 x 1 - 3, halved, + 1 = 28 pixels a side.
  m.op("aten::cudnn_convolution", "[[2,8,56,56],[16,8,3,3],[],[],[],[]]",
       R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","","[1, 1]","[2, 2]","[1, 1]","1"])");
  m.op("aten::relu", "[[2,16,28,28]]", R"(["float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[0])[0]].elements, 2 * 16 * 28 * 28);
  EXPECT_EQ(maker_of(flow, 1, 0), 0U);
}

TEST(Dataflow, AnOutputOfUnknownShapeIsWhatTheNextOneReads) {
  FlowMaker m;
  m.op("aten::cudnn_convolution", "[[2,8,56,56],[16,8,3,3]]", R"(["float","float"])");
  m.op("aten::relu", "[[2,16,28,28]]", R"(["float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(maker_of(flow, 1, 0), 0U);
}

// Generated steps number only what has a node that launches something. The second tanh has no
// number of its own: it comes after number 1, so node 1 reads what was there before the first.
TEST(Dataflow, WhatHasNoNumberComesAfterTheLatestOne) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.sequence = 1;
  m.op("aten::gelu", "[[8,16]]", R"(["float"])");
  m.sequence = -1;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.thread = 1;
  m.sequence = 1;
  m.op(std::string(backward_node) + "GeluBackward0>GeluBackward0>aten::gelu_backward",
       "[[8,16],[8,16]]", R"(["float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

// A step of an equation: the slope 1 is scaled by a number and added to what it is the slope at, 0,
// not to itself.
TEST(Dataflow, WhatANumberScalesIsAddedToAnotherTensor) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.op("aten::relu", "[[8,16]]", R"(["float"])");
  m.op("aten::mul", "[[8,16],[]]", R"(["float","double"])");
  m.op("aten::add", "[[8,16],[8,16],[]]", R"(["float","float","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  EXPECT_EQ(maker_of(flow, 3, 0), 2U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

// x, then a branch of x that is multiplied by a gate of each row and added to x.
TEST(Dataflow, AScaledBranchIsAddedToAnotherTensor) {
  FlowMaker m;
  const std::string_view half1 = R"(["c10::Half"])";
  m.op("aten::relu", "[[8,16]]", half1);
  m.op("aten::relu", "[[8,16]]", half1);
  m.op("aten::mul", "[[8,16],[8,1]]", half2);
  m.op("aten::add_", "[[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 3, 0), 2U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

// Activations and the weight have 256 elements each.
// One of two branches is bounded and multiplied by the other one. The place that is given for the
// bounded values is no operand, so that the other branch still waits for its reader.
TEST(Dataflow, WhereAResultIsWrittenIsNoOperand) {
  FlowMaker m;
  m.op("aten::mm", "[[8,4],[4,16]]", R"(["float","float"])");
  m.op("aten::mm", "[[8,4],[4,16]]", R"(["float","float"])");
  m.op("aten::hardtanh>aten::clamp", "[[8,16],[],[],[8,16]]",
       R"(["float","Scalar","Scalar","float"])");
  m.op("aten::mul", "[[8,16],[8,16]]", R"(["float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  ASSERT_EQ(flow.ops[2].input_count, 1U);
  EXPECT_EQ(maker_of(flow, 2, 0), 1U);
  EXPECT_EQ(maker_of(flow, 3, 0), 2U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

TEST(Dataflow, AWeightThatALayerConvertsIsNoTensorOfTheStep) {
  FlowMaker m;
  m.op("aten::relu", "[[2,8,16]]", R"(["float"])");
  m.around_dims = "[[2,8,16],[16,16],[]]";
  m.around_types = R"(["float","float",""])";
  m.op("aten::linear>aten::to>aten::copy_", "[[16,16],[16,16],[]]",
       R"(["c10::Half","float","Scalar"])");
  m.op("aten::linear>aten::to>aten::copy_", "[[2,8,16],[2,8,16],[]]",
       R"(["c10::Half","float","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(maker_of(flow, 1, 1), no_row);
  EXPECT_EQ(maker_of(flow, 2, 1), 0U);
}

// x, its normalised copy in FP32, which a layer converts for its product: the sum behind reads x.
TEST(Dataflow, WhatALayerConvertsForItselfIsNotReadOutside) {
  FlowMaker m;
  m.op("aten::relu", "[[8,16]]", R"(["c10::Half"])");
  m.op("aten::linear>aten::to>aten::copy_", "[[8,16],[8,16],[]]",
       R"(["c10::Half","float","Scalar"])");
  m.op("aten::linear>aten::reshape>aten::clone>aten::copy_", "[[8,16],[8,16],[]]",
       R"(["c10::Half","c10::Half","Scalar"])");
  m.op("aten::add", "[[8,16],[1],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 3, 0), 0U);
}

// A sum, its norm and activation, a branch of that: the next sum takes the first one.
TEST(Dataflow, ABranchIsAddedToTheSumThatWasNormalisedForIt) {
  const std::string_view half1 = R"(["c10::Half"])";
  FlowMaker m;
  m.op("aten::add", "[[2,4,8,8],[2,4,8,8],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.op("aten::cudnn_batch_norm", "[[2,4,8,8],[4],[4],[4],[4],[],[],[]]",
       R"(["c10::Half","float","float","float","float","Scalar","Scalar","Scalar"])",
       R"(["","","","","","False","0.1","1e-05"])");
  m.op("aten::relu", "[[2,4,8,8]]", half1);
  m.op("aten::cudnn_convolution", "[[2,4,8,8],[4,4,3,3],[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])", "sm90_xmma_fprop_implicit_gemm");
  m.op("aten::add", "[[2,4,8,8],[2,4,8,8],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 4, 0), 3U);
  EXPECT_EQ(maker_of(flow, 4, 1), 0U);
}

TEST(Dataflow, BackwardOperandsAreGradientsOrWhatTheForwardOperationKept) {
  const Dataflow flow = small_training();
  ASSERT_EQ(flow.ops.size(), 7U);
  EXPECT_EQ(maker_of(flow, 4, 1), 1U);      // the result of relu
  EXPECT_EQ(maker_of(flow, 5, 0), 4U);      // the gradient
  EXPECT_EQ(maker_of(flow, 5, 1), no_row);  // the weight, not a result of the same size
}

/// A layer behind a rectifier, and its gradient; it reads a copy, of what has the type `from`.
Dataflow layer_on_copy(std::string_view from) {
  FlowMaker m;
  m.sequence = 3;
  m.op("aten::relu", "[[2,4,8,8]]", "[\"" + std::string(from) + "\"]");
  m.sequence = 4;
  m.op("aten::conv2d>aten::copy_", "[[2,4,8,8],[2,4,8,8]]",
       R"(["c10::Half",")" + std::string(from) + "\"]");
  m.op("aten::conv2d>aten::cudnn_convolution", "[[2,4,8,8],[4,4,3,3],[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])");
  m.thread = 1;
  m.forward_thread = 1;
  m.op("ConvolutionBackward0>aten::convolution_backward", "[[2,4,8,8],[2,4,8,8],[4,4,3,3]]",
       R"(["c10::Half","c10::Half","c10::Half"])");
  return dataflow(m.step());
}

// What is converted for a layer and asks for no gradient has the layer's number, and so has what a
// what-if converts: the layer's gradient reads the copy. One of the same type is the layer's own.
TEST(Dataflow, ALayerKeepsTheCopyThatWasConvertedForIt) {
  const Dataflow converted = layer_on_copy("float"), reordered = layer_on_copy("c10::Half");
  ASSERT_EQ(converted.ops.size(), 4U);
  ASSERT_EQ(reordered.ops.size(), 4U);
  EXPECT_EQ(maker_of(converted, 3, 1), 1U);
  EXPECT_EQ(maker_of(reordered, 3, 1), 0U);
}

// The slope of a sine is the cosine of what was kept, times the gradient: not times what was kept.
TEST(Dataflow, ANodeMultipliesTheSlopeThatItMadeByItsGradient) {
  FlowMaker m;
  test::add_sine_and_gradient(m, "[8,16]");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(maker_of(flow, 3, 0), 0U);
  EXPECT_EQ(maker_of(flow, 4, 0), 3U);
  EXPECT_EQ(maker_of(flow, 4, 1), 2U);
}

// The halves of a tensor are turned and joined again (rotary positions): what the parts are no
// trace tells, but the next operation reads as many elements, in a type.
TEST(Dataflow, WhatSlicesAreJoinedToIsWhatTheNextOneReads) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,32]]", R"(["float"])");
  m.strides = "[[[32,1],[32,1]],[]]";
  m.op("aten::cat", "[[[8,16],[8,16]],[]]", R"(["TensorList","Scalar"])");
  m.strides.clear();
  m.op("aten::relu", "[[8,32]]", R"(["float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  const FlowTensor& read = flow.tensors[flow.inputs_of(flow.ops[2])[0].tensor];
  EXPECT_EQ(read.producer, 1U);
  EXPECT_EQ(read.type, DataType::fp32);
}

// 16-bit activations beside FP32 ones, which a layer has converted for itself: FP32, of both.
TEST(Dataflow, WhatIsJoinedHasTheWidestTypeOfItsParts) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.op("aten::linear>aten::to>aten::copy_", "[[8,16],[8,16],[]]",
       R"(["c10::Half","float","Scalar"])");
  m.op("aten::relu", "[[8,32]]", R"(["c10::Half"])");
  m.op("aten::cat", "[[[8,32],[8,16]],[]]", R"(["TensorList","Scalar"])", R"(["","-1"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  const auto parts = flow.inputs_of(flow.ops[3]);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(flow.tensors[parts[0].tensor].producer, 2U);
  EXPECT_EQ(flow.tensors[parts[1].tensor].producer, 0U);
  const FlowTensor& joined = flow.tensors[flow.outputs_of(flow.ops[3])[0]];
  EXPECT_EQ(joined.type, DataType::fp32);
  EXPECT_EQ(joined.elements, 8 * 48);
}

// A word for the class in FP32, which is a parameter, before patches in 16 bits: only the slices
// that each is copied to say that both are joined in FP32, which is what is read next.
TEST(Dataflow, SlicesOfWhatIsJoinedSayItsType) {
  FlowMaker m;
  m.op("aten::relu", "[[8,7,32]]", R"(["c10::Half"])");
  m.op_on_slices("aten::cat", "[[[8,1,32],[8,7,32]],[]]", R"(["TensorList","Scalar"])",
                 "[[8,8,32],[],[],[]]", R"(["float","Scalar","Scalar","Scalar"])", R"(["","1"])");
  m.op("aten::relu", "[[8,8,32]]", R"(["float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[0]].type, DataType::fp32);
  EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[2])[0].tensor].producer, 1U);
}

// Two halves of one tensor meet a tensor of a half's size: strides of 32 over rows of 16 say which
// they are, both when they are read and when the backward pass reads what was kept.
TEST(Dataflow, SlicesArePartsOfTheTensorThatTheirStridesStepOver) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,32]]", R"(["float"])");
  m.sequence = 2;
  m.op("aten::relu", "[[8,16]]", R"(["float"])");
  m.sequence = 3;
  m.strides = "[[32,1],[32,1]]";
  m.op("aten::mul", "[[8,16],[8,16]]", R"(["float","float"])");
  m.thread = 1;
  m.strides = "[[16,1],[32,1]]";
  m.op("autograd::engine::evaluate_function: GeluBackward0>GeluBackward0>aten::gelu_backward",
       "[[8,16],[8,16]]", R"(["float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 2, 0), 0U);
  EXPECT_EQ(maker_of(flow, 2, 1), 0U);
  for (const FlowUse& use : flow.inputs_of(flow.ops[2])) EXPECT_EQ(flow.elements_of(use), 8 * 16);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

// What is written to a part of a tensor leaves the tensor what it was to those who read all of it.
TEST(Dataflow, APartThatIsOverwrittenHidesNotTheWhole) {
  FlowMaker m;
  m.op("aten::tanh", "[[8,32]]", R"(["float"])");
  m.strides = "[[32,1]]";
  m.op("aten::relu_", "[[8,16]]", R"(["float"])");
  m.op("aten::sigmoid", "[[8,32]]", R"(["float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(maker_of(flow, 1, 0), 0U);
  EXPECT_EQ(maker_of(flow, 2, 0), 0U);
}

// 16 rows that an index picked are scaled: the trace tells their shape there. Products of the layer
// before are as large, but were read.
TEST(Dataflow, PickedRowsAreAnOperandOfTheNextOperation) {
  FlowMaker m;
  m.op("aten::tanh", "[[16,8]]", R"(["float"])");
  m.op("aten::relu", "[[16,8]]", R"(["float"])");
  m.op("aten::index", "[[4,8],[]]", R"(["float",""])");
  m.op("aten::mul", "[[16,1],[16,8]]", two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 3, 1), 1U);  // relu: nobody has read it yet
  m.op("aten::index", "[[4,8],[]]", R"(["float",""])");
  m.op("aten::mul", "[[16,1],[16,8]]", two_floats);
  m.op("aten::sigmoid", "[[16,8]]", R"(["float"])");
  m.op("aten::index", "[[4,8],[]]", R"(["float",""])");
  m.op("aten::mul", "[[16,1],[16,8]]", two_floats);
  const Dataflow more = dataflow(m.step());
  ASSERT_EQ(more.ops.size(), 9U);
  EXPECT_EQ(maker_of(more, 8, 1), 6U);
}

// What was overwritten in place nobody can name any longer: the list is joined of the result of the
// operation in place (2) and of the one before the two (0).
TEST(Dataflow, WhatWasOverwrittenInPlaceIsNotRead) {
  FlowMaker m;
  m.op("aten::exp", "[[8,16]]", R"(["float"])");
  m.op("aten::tanh", "[[8,16]]", R"(["float"])");
  m.op("aten::tanh_", "[[8,16]]", R"(["float"])");
  m.op("aten::add", "[[8,16],[8,16],[]]", R"(["float","float","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 3, 0), 2U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

TEST(Dataflow, OperationsWithoutShapesHaveNoOperands) {
  FlowMaker m;
  m.op("aten::relu", "", "");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 1U);
  EXPECT_EQ(flow.ops[0].input_count + flow.ops[0].output_count, 0U);
}

// Operations of other shapes and strides stay apart however many texts a trace has: keys made of
// shifted ids met where ids differ in bit 0 (shapes) and in bit 12 (strides).
TEST(Dataflow, TellsOperandsApartAmongThousandsOfTexts) {
  FlowMaker m;
  const auto list = [](int n) { return "[[" + std::to_string(n) + "]]"; };
  for (int n = 1; n <= 9000; ++n) m.idle("aten::view", list(n), R"(["float"])");
  std::vector<std::int64_t> elements;
  for (const int n : {10, 21}) {
    for (const int stride : {1, 2001}) {
      for (const int further : {0, 1}) {
        m.strides = list(stride + 4096 * further);
        m.op("aten::relu", list(n + further), R"(["float"])");
        elements.push_back(n + further);
      }
    }
  }
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ASSERT_EQ(flow.inputs_of(flow.ops[i]).size(), 1U);
    EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[i])[0].tensor].elements, elements[i]) << i;
  }
}

}  // namespace
}  // namespace tandem
