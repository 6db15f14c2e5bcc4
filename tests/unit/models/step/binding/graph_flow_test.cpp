// Tensors of compiled graphs, on steps of a few operations.
#include "models/step/binding/graph_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/step/batch/batch_size.h"
#include "models/step/binding/compiled_graphs.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::half2;
using test::two_floats;

constexpr std::string_view float_triple = R"(["float","float","float"])";
constexpr std::string_view layer_types =
    R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar"])";

/// The operations behind the first ones, each with what made its first operand: there are no more.
void expect_first_operands(const Dataflow& flow, std::size_t first,
                           const std::vector<std::uint32_t>& makers) {
  ASSERT_EQ(flow.ops.size(), first + makers.size());
  for (std::size_t i = 0; i < makers.size(); ++i) {
    const auto inputs = flow.inputs_of(flow.ops[first + i]);
    ASSERT_FALSE(inputs.empty());
    EXPECT_EQ(flow.tensors[inputs[0].tensor].producer, makers[i]) << i;
  }
}

TEST(GraphFlow, TheLastOperandIsNewUnlessItWaitsToBeRead) {
  FlowMaker m;
  m.op("Torch-Compiled Region>aten::mm", "[[8,16],[16,4],[8,4]]", float_triple);
  m.op("Torch-Compiled Region>triton_poi_fused_relu_0", "[[8,4],[8,4]]", two_floats);
  m.op("Torch-Compiled Region>aten::mm", "[[8,16],[16,4],[8,4]]", float_triple);
  // Both [8,4] wait: the relu and the product. The sum goes into the first operand.
  m.op("Torch-Compiled Region>triton_poi_fused_add_1", "[[8,4],[8,4]]", two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(flow.ops[0].input_count, 2U);  // the place of its result is no operand
  ASSERT_EQ(flow.ops[1].input_count, 1U);
  EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[1])[0].tensor].producer, 0U);
  EXPECT_FALSE(flow.ops[1].overwrites);
  EXPECT_EQ(flow.ops[3].input_count, 2U);
  EXPECT_TRUE(flow.ops[3].overwrites);
  for (const FlowOp& op : flow.ops) EXPECT_EQ(op.output_count, 1U);
}

// A mask [16,8,8] has as many elements as a weight [32,32], but no product of its dimensions is 32;
// of 16, 8 and 8 one folds to [128,8].
TEST(GraphFlow, ProductsReadMatricesThatWhatWasMadeFoldsTo) {
  FlowMaker m;
  m.op("Torch-Compiled Region>triton_poi_fused_where_0", "[[16,8,8],[16,8,8]]", two_floats);
  m.op("Torch-Compiled Region>aten::mm", "[[64,32],[32,32],[64,32]]", float_triple);
  m.op("Torch-Compiled Region>aten::mm", "[[128,8],[8,4],[128,4]]", float_triple);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  ASSERT_EQ(flow.ops[1].input_count, 2U);
  EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[1])[1].tensor].producer, no_row);
  EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[2])[0].tensor].producer, 0U);
}

TEST(GraphFlow, ANormKeepsSeveralResults) {
  FlowMaker m;
  m.around_dims = "[[8,16],[16,16],[16]]";
  m.around_types = R"(["float","float","float"])";
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  // Behind the weight, which the graph lists: a mask and means.
  m.op("CompiledFunction>triton_per_fused_native_layer_norm_0", "[[8,16],[16],[8,16],[8,1]]",
       R"(["float","float","bool","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(flow.ops[1].input_count, 2U);
  ASSERT_EQ(flow.ops[1].output_count, 2U);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[0]].elements, 8 * 16);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[1]].elements, 8);
}

TEST(GraphFlow, PartsThatAreWrittenOneByOneAreOneTensor) {
  FlowMaker m;
  // Columns 0 to 3 and 4 to 5 of [8,6], whose rows are 6 apart: 8 x 4 + 8 x 2 = 8 x 6 elements.
  m.strides = "[[8,4,1],[6,1]]";
  m.op("Torch-Compiled Region>triton_poi_fused_cat_0", "[[8,2,4],[8,4]]", two_floats);
  m.strides = "[[8,2,1],[6,1]]";
  m.op("Torch-Compiled Region>triton_poi_fused_cat_1", "[[8,4,2],[8,2]]", two_floats);
  m.strides = "";
  m.op("Torch-Compiled Region>aten::mm", "[[8,6],[6,4],[8,4]]", float_triple);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  const std::uint32_t joined = flow.inputs_of(flow.ops[2])[0].tensor;
  EXPECT_EQ(joined, flow.outputs_of(flow.ops[0])[0]);
  EXPECT_EQ(flow.tensors[joined].elements, 8 * 6);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[1])[0]].elements, 0);
}

TEST(GraphFlow, BackwardReadsWhatForwardKeptTheLatestFirst) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_poi_fused_gelu_0", "[[8,16],[8,16]]", two_floats);
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,4],[8,4]]", float_triple);
  m.thread = 1;
  m.forward_thread = 1;
  // Four reads of two tensors: the gelu twice, then the product before it twice.
  for (const std::string_view name : {"a", "b", "c", "d"}) {
    m.op("CompiledFunctionBackward>triton_poi_fused_" + std::string(name), "[[8,16],[2]]",
         two_floats);
  }
  expect_first_operands(dataflow(m.step()), 3, {1, 1, 0, 0});
}

TEST(GraphFlow, ASignalSeenAsAnImageOfOneRowIsKeptToo) {
  FlowMaker m;
  m.sequence = 7;
  // A layer over time runs as one over images of one row; behind it the bias is added in place and
  // an activation is new. Backward reads both, the activation first.
  m.op("CompiledFunction>aten::cudnn_convolution", "[[2,4,1,64],[4,4,1,7],[],[],[],[]]",
       layer_types, R"(["","","[0, 3]","[1, 1]","[1, 1]","1"])");
  m.op("CompiledFunction>triton_poi_fused_convolution_silu_0", "[[2,4,64],[4],[2,4,64]]",
       float_triple);
  m.op("CompiledFunction>aten::mm", "[[4,16],[16,4],[4,4]]", float_triple);
  m.thread = 1;
  m.forward_thread = 1;
  for (const std::string_view name : {"a", "b"}) {
    m.op("CompiledFunctionBackward>triton_poi_fused_" + std::string(name), "[[2,4,64],[2]]",
         two_floats);
  }
  expect_first_operands(dataflow(m.step()), 3, {1, 0});
}

TEST(GraphFlow, WhatIsMadeWithAMaskIsNew) {
  FlowMaker m;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_poi_fused_native_dropout_relu_threshold_backward_0",
       "[[8,16],[8,16],[8,16],[8,16]]", R"(["float","bool","float","bool"])");
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  // The masks and the activation of the layer before are there already: still, all three are new.
  m.op("CompiledFunction>triton_poi_fused_native_dropout_relu_threshold_backward_1",
       "[[8,16],[8,16],[8,16],[8,16]]", R"(["float","bool","float","bool"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  for (const std::size_t i : {1U, 3U}) {
    EXPECT_EQ(flow.ops[i].input_count, 1U) << i;
    EXPECT_EQ(flow.ops[i].output_count, 3U) << i;
  }
}

TEST(GraphFlow, TheGradientOfAnActivationTakesThePlaceOfTheOneFromBehind) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_poi_fused_gelu_0", "[[8,16],[8,16]]", two_floats);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::mm", "[[8,4],[4,16],[8,16]]", float_triple);
  m.op("CompiledFunctionBackward>triton_poi_fused_gelu_gelu_backward_1", "[[8,16],[8,16]]",
       two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_TRUE(flow.ops[3].overwrites);
  const auto inputs = flow.inputs_of(flow.ops[3]);
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(flow.tensors[inputs[0].tensor].producer, 2U);  // the gradient
  EXPECT_LT(flow.tensors[inputs[1].tensor].producer, 2U);  // what forward kept
}

TEST(GraphFlow, WhatSeveralLayersTakeAsTheirGradientIsNoneThatForwardKept) {
  FlowMaker m;
  m.sequence = 7;
  for (int layer = 0; layer < 2; ++layer) {
    m.op("CompiledFunction>aten::cudnn_convolution", "[[2,4,8,8],[4,4,1,1],[],[],[],[]]",
         layer_types, R"(["","","[0, 0]","[1, 1]","[1, 1]","1"])");
  }
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>triton_poi_fused_div_0", "[[2],[2,4,8,8]]", two_floats);
  // A sum hands its gradient to each of its terms.
  for (int layer = 0; layer < 2; ++layer) {
    m.op("CompiledFunctionBackward>aten::convolution_backward", "[[2,4,8,8],[2,4,8,8],[4,4,1,1]]",
         float_triple);
  }
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 5U);
  for (const std::size_t i : {3U, 4U}) {
    const auto inputs = flow.inputs_of(flow.ops[i]);
    ASSERT_GE(inputs.size(), 2U);
    EXPECT_GE(flow.tensors[inputs[0].tensor].producer, 2U) << i;
    // What the layer read: the last one the result of the first, that one what the step was given.
    EXPECT_EQ(flow.tensors[inputs[1].tensor].producer, i == 3 ? 0U : no_row) << i;
  }
}

// What a product's gradients read beside a gradient has the sides of the product: [8,4] and the
// weight [16,4] for that of the activation, the activation [16,8] and [8,4] for that of the weight.
// The gradient of the second activation then reads the product [8,16] that it was computed from:
// both activations of that size have readers already.
TEST(GraphFlow, TheGradientOfALayerReadsWhatTheLayerRead) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>triton_poi_fused_gelu_0", "[[8,16],[8,16]]", two_floats);
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_poi_fused_gelu_1", "[[8,16],[8,16]]", two_floats);
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,4],[8,4]]", float_triple);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::mm", "[[8,4],[4,16],[8,16]]", float_triple);
  m.op("CompiledFunctionBackward>aten::mm", "[[16,8],[8,4],[16,4]]", float_triple);
  m.op("CompiledFunctionBackward>triton_poi_fused_gelu_gelu_backward_2", "[[8,16],[8,16]]",
       two_floats);
  m.op("CompiledFunctionBackward>aten::mm", "[[16,8],[8,16],[16,16]]", float_triple);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 8U);
  const auto maker = [&](std::size_t op, std::size_t input) {
    return flow.tensors[flow.inputs_of(flow.ops[op])[input].tensor].producer;
  };
  EXPECT_EQ(maker(4, 1), no_row);  // the weight
  EXPECT_EQ(maker(5, 0), 2U);
  EXPECT_EQ(maker(6, 0), 4U);  // the gradient
  EXPECT_EQ(maker(6, 1), 1U);
  EXPECT_EQ(std::min(maker(7, 0), maker(7, 1)), 0U);
}

// The graph is given [8,32], [32,16] and a weight of 16: the means [8,1] must be a result, and so
// is the [8,16] behind them, though a product of that size is there. Means that stand first are one
// as well, if the product behind them waits to be read.
TEST(GraphFlow, WhatNothingCouldHaveMadeIsAResult) {
  FlowMaker m;
  m.around_dims = "[[8,32],[32,16],[16]]";
  m.around_types = float_triple;
  for (int layer = 0; layer < 2; ++layer) {
    m.op("CompiledFunction>aten::mm", "[[8,32],[32,16],[8,16]]", float_triple);
    m.op("CompiledFunction>triton_per_fused_native_layer_norm_0", "[[8,16],[16],[8,1],[8,16]]",
         R"(["float","float","float","float"])");
  }
  m.op("CompiledFunction>aten::mm", "[[8,32],[32,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_red_fused_mean_1", "[[8,2],[8,16]]", two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 6U);
  for (const std::size_t i : {1U, 3U}) {
    EXPECT_EQ(flow.ops[i].input_count, 2U) << i;
    EXPECT_EQ(flow.ops[i].output_count, 2U) << i;
  }
  ASSERT_EQ(flow.ops[5].input_count, 1U);
  EXPECT_EQ(flow.tensors[flow.inputs_of(flow.ops[5])[0].tensor].producer, 4U);
  ASSERT_EQ(flow.ops[5].output_count, 1U);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[5])[0]].elements, 16);
}

// A layer over a half of the channels: 256 floats are kept, of which both passes copy 128.
TEST(GraphFlow, APartThatIsCopiedForAConvolutionIsKeptAsTheWhole) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>triton_poi_fused_relu_0", "[[2,8,4,4],[2,8,4,4]]", two_floats);
  m.op("CompiledFunction>triton_poi_fused_convolution_split_1", "[[2,8,4,4],[2,4,4,4]]",
       two_floats);
  m.op("CompiledFunction>aten::cudnn_convolution", "[[2,4,4,4],[6,4,1,1],[],[],[],[]]", layer_types,
       R"(["","","[0, 0]","[1, 1]","[1, 1]","1"])");
  m.thread = 1;
  m.forward_thread = 1;
  m.between_dims = "[[2,6,4,4],[2,4,4,4],[6,4,1,1]]";
  m.between_types = float_triple;
  m.op("CompiledFunctionBackward>aten::convolution_backward>aten::copy_", "[[2,4,4,4],[2,4,4,4]]",
       two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  ASSERT_EQ(flow.ops[3].input_count, 1U);
  const FlowTensor& read = flow.tensors[flow.inputs_of(flow.ops[3])[0].tensor];
  EXPECT_EQ(read.producer, 0U);
  EXPECT_EQ(read.elements, 256);
}

// The gradient of a bias is a sum of gradients alone; those of a norm's parameters are sums of what
// the kernel before read: a gradient and what forward kept.
TEST(GraphFlow, SumsForParametersReadGradients) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::mm", "[[8,4],[4,16],[8,16]]", float_triple);
  m.op("CompiledFunctionBackward>triton_per_fused_native_layer_norm_backward_0",
       "[[8,16],[8,16],[8,16]]", float_triple);
  m.op("CompiledFunctionBackward>triton_red_fused_native_layer_norm_backward_1",
       "[[8,16],[8,16],[16]]", float_triple);
  m.op("CompiledFunctionBackward>triton_poi_fused_mul_2", "[[8,16],[8,16]]", two_floats);
  m.op("CompiledFunctionBackward>triton_red_fused_sum_view_3", "[[8,16],[16]]", two_floats);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 6U);
  const auto rows = flow.inputs_of(flow.ops[2]), sums = flow.inputs_of(flow.ops[3]);
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(sums.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(sums[i].tensor, rows[i].tensor) << i;
  const auto bias = flow.inputs_of(flow.ops[5]);
  ASSERT_EQ(bias.size(), 1U);
  EXPECT_GE(flow.tensors[bias[0].tensor].producer, 1U);
}

// Query, key and value of 128 floats are parts of one product of 384: that is kept, with what
// attention has made.
TEST(GraphFlow, AttentionReadsPartsOfOneProduct) {
  FlowMaker m;
  m.sequence = 7;
  m.around_dims = "[[8,32],[32,48]]";
  m.around_types = two_floats;
  m.op("CompiledFunction>aten::mm", "[[8,32],[32,48],[8,48]]", float_triple);
  m.op("CompiledFunction>aten::_cudnn_attention_forward", "[[2,1,4,16],[2,1,4,16],[2,1,4,16]]",
       float_triple);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::_cudnn_attention_backward",
       "[[2,1,4,16],[2,1,4,16],[2,1,4,16],[2,1,4,16],[2,1,4,16]]",
       R"(["float","float","float","float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  for (const FlowUse& use : flow.inputs_of(flow.ops[1])) {
    EXPECT_EQ(flow.tensors[use.tensor].producer, 0U);
  }
  const auto inputs = flow.inputs_of(flow.ops[2]);
  ASSERT_EQ(inputs.size(), 5U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(flow.tensors[inputs[i].tensor].producer, 0U) << i;
  EXPECT_EQ(flow.tensors[inputs[4].tensor].producer, 1U);
}

// Both operands of the kernel have 128 floats. The gradient that waits has the dimensions of the
// second one; the first one is what the norm kept.
TEST(GraphFlow, AGradientWaitsForTheOperandOfItsDimensions) {
  FlowMaker m;
  m.sequence = 7;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16],[8,16]]", float_triple);
  m.op("CompiledFunction>triton_per_fused_native_layer_norm_0", "[[8,16],[2,4,16]]", two_floats);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>aten::mm", "[[8,4],[4,16],[8,16]]", float_triple);
  m.op("CompiledFunctionBackward>triton_per_fused_native_layer_norm_backward_0",
       "[[2,4,16],[8,16],[2,4,16]]", float_triple);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  const auto inputs = flow.inputs_of(flow.ops[3]);
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(flow.tensors[inputs[0].tensor].producer, 1U);
  EXPECT_EQ(flow.tensors[inputs[1].tensor].producer, 2U);
}

TEST(GraphFlow, ATrainingGraphListsItsParametersAndInputs) {
  FlowMaker m;
  m.around_dims = "[[8,512],[8,3,32,32],[64,3,7,7],[8,8,1,1]]";
  m.around_types = R"(["long int","float","float","float"])";
  m.op("CompiledFunction>triton_poi_fused_0", "[[8,3,32,32],[8,3,32,32]]", two_floats);
  const Step step = m.step();
  const GraphOperands given = graph_operands(step, dataflow(step), 8);
  EXPECT_EQ(given.inputs.size(), 2U);      // tokens and images
  EXPECT_EQ(given.parameters.size(), 2U);  // one of them with as many filters as there are items
}

// [50,16] stands in the lists of both graphs; outside of them its two gradients are added up once.
TEST(GraphFlow, WeightsThatGraphsShareAreListedOnce) {
  FlowMaker m;
  m.around_dims = "[[50,16],[16,16]]";
  m.around_types = two_floats;
  m.op("CompiledFunction>triton_poi_fused_0", "[[8,16],[8,16]]", two_floats);
  m.op("CompiledFunction>triton_poi_fused_1", "[[8,16],[8,16]]", two_floats);
  EXPECT_EQ(graph_operands(m.step(), dataflow(m.step()), 8).parameters.size(), 4U);
  m.around_dims.clear();
  m.thread = 1;
  m.forward_thread = 1;
  m.op("autograd::engine::evaluate_function: CompiledFunctionBackward>aten::add_",
       "[[50,16],[50,16],[]]", R"(["float","float","Scalar"])");
  const Step step = m.step();
  EXPECT_EQ(graph_operands(step, dataflow(step), 8).parameters.size(), 3U);
}

// The gradient of a norm: sums over two tensors, then a kernel of the same two. Forward made three
// [8,16]; read alone, the kernel would find another of them.
TEST(GraphFlow, AKernelBehindAReductionReadsTheSame) {
  FlowMaker m;
  for (int i = 0; i < 3; ++i) {
    m.op("CompiledFunction>aten::mm", "[[8,16],[16,16]]", half2);
    m.op("CompiledFunction>triton_poi_fused_relu_" + std::to_string(i), "[[8,16],[8,16]]", half2);
  }
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>triton_red_fused_norm_backward_7", "[[8,16],[8,16],[16]]",
       R"(["c10::Half","c10::Half","float"])");
  m.op("CompiledFunctionBackward>triton_poi_fused_norm_backward_8", "[[8,16],[8,16],[16],[8,16]]",
       R"(["c10::Half","c10::Half","float","c10::Half"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 8U);
  const auto sums = flow.inputs_of(flow.ops[6]), kernel = flow.inputs_of(flow.ops[7]);
  ASSERT_EQ(sums.size(), 2U);
  ASSERT_GE(kernel.size(), 2U);
  EXPECT_EQ(kernel[0].tensor, sums[0].tensor);
  EXPECT_EQ(kernel[1].tensor, sums[1].tensor);
}

// Autocast converts weights before their products. 16 scores of [4,8] have as many elements as the
// second weight, but its dimensions were made by nothing: it is given, 16 x 32 floats.
TEST(GraphFlow, WeightsThatAreConvertedAreGiven) {
  constexpr std::string_view narrowed = R"(["float","c10::Half"])";
  FlowMaker m;
  m.op("Torch-Compiled Region>triton_poi_fused__to_copy_0", "[[16,16],[16,16]]", narrowed);
  m.op("Torch-Compiled Region>aten::bmm", "[[16,4,2],[16,2,8]]", two_floats);
  m.op("Torch-Compiled Region>triton_per_fused__softmax_1", "[[16,4,8],[16,4,8]]", two_floats);
  m.op("Torch-Compiled Region>aten::bmm", "[[16,4,8],[16,8,2]]", two_floats);
  m.op("Torch-Compiled Region>triton_poi_fused__to_copy_2", "[[16,32],[16,32]]", narrowed);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  ASSERT_EQ(flow.ops.size(), 5U);
  const auto inputs = flow.inputs_of(flow.ops[4]);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(flow.tensors[inputs[0].tensor].producer, no_row);
  const auto parameters = graph_operands(step, flow, 4).parameters;
  EXPECT_TRUE(std::any_of(parameters.begin(), parameters.end(),
                          [](const TensorShape& t) { return t.elements() == 16 * 32; }));
}

// Scores of 50 words are computed with the table that words were looked up in, which the product
// reads transposed: one parameter. A layer of other dimensions has a weight of its own.
TEST(GraphFlow, ScoresAreComputedWithTheTableOfTheWords) {
  for (const bool scores : {true, false}) {
    FlowMaker m;
    m.op("Torch-Compiled Region>triton_poi_fused_embedding_0", "[[8],[50,16],[8,16]]",
         R"(["long int","float","float"])");
    m.op("Torch-Compiled Region>aten::mm",
         scores ? "[[8,16],[16,50],[8,50]]" : "[[8,16],[16,48],[8,48]]", float_triple);
    const Step step = m.step();
    EXPECT_EQ(graph_operands(step, dataflow(step), 8).parameters.size(), scores ? 1U : 2U);
  }
}

// Two layers share two weights of 16 x 16: each is converted once for both layers, two copies in
// one kernel. The second layer has read the last copies when two further layers convert them again:
// 2 parameters. A weight of 16 x 32 that one layer converts is another one: 3.
TEST(GraphFlow, AWeightThatIsConvertedForSeveralLayersIsGivenOnce) {
  constexpr std::string_view copies = R"(["float","c10::Half","c10::Half"])";
  constexpr std::string_view half = R"(["c10::Half","c10::Half","c10::Half"])";
  FlowMaker m;
  for (int pair = 0; pair < 2; ++pair) {
    for (int product = 0; product < 4; ++product) {
      if (product < 2) {
        m.op("Torch-Compiled Region>triton_poi_fused__to_copy_0", "[[16,16],[16,16],[16,16]]",
             copies);
      }
      m.op("Torch-Compiled Region>aten::mm", "[[8,16],[16,16],[8,16]]", half);
    }
  }
  m.op("Torch-Compiled Region>triton_poi_fused__to_copy_1", "[[16,32],[16,32]]",
       R"(["float","c10::Half"])");
  m.op("Torch-Compiled Region>aten::mm", "[[8,32],[32,16],[8,16]]", half);
  const Step step = m.step();
  const auto parameters = graph_operands(step, dataflow(step), 8).parameters;
  EXPECT_EQ(std::count_if(parameters.begin(), parameters.end(),
                          [](const TensorShape& t) { return t.type == DataType::fp32; }),
            3);
}

// Forward computes FP32 from a half product of its size, and both are there: the backward kernel
// that reads the product makes the other one again, as its result.
TEST(GraphFlow, WhatAKeptTensorTellsIsMadeAgain) {
  constexpr std::string_view widened = R"(["c10::Half","float"])";
  FlowMaker m;
  m.op("CompiledFunction>aten::mm", "[[8,16],[16,16]]", R"(["c10::Half","c10::Half"])");
  m.op("CompiledFunction>triton_poi_fused_norm_0", "[[8,16],[8,16]]", widened);
  m.op("CompiledFunction>triton_poi_fused_silu_1", "[[8,16],[8,16]]", R"(["float","c10::Half"])");
  m.thread = 1;
  m.forward_thread = 1;
  m.op("CompiledFunctionBackward>triton_red_fused_sum_2", "[[8,16],[8,16],[8,1]]",
       R"(["c10::Half","float","float"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  ASSERT_EQ(flow.ops[3].input_count, 1U);
  ASSERT_EQ(flow.ops[3].output_count, 2U);
  EXPECT_EQ(flow.tensors[flow.outputs_of(flow.ops[3])[0]].type, DataType::fp32);
}

TEST(GraphFlow, ItemsOfCompiledTokensAreThoseOfTheFirstIndices) {
  FlowMaker m;
  m.op("Torch-Compiled Region>triton_red_fused_embedding_0", "[[4,128],[1000,64],[4,128,64]]",
       R"(["long int","float","float"])");
  m.op("Torch-Compiled Region>aten::mm", "[[512,64],[64,64],[512,64]]", float_triple);
  const Step step = m.step();
  EXPECT_EQ(batch_size(step.trace, step.links).items, 4);
}

}  // namespace
}  // namespace tandem
