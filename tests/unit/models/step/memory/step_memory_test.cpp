// Memory that a step holds: recorded events, and liveness.
#include "models/step/memory/step_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

void event(Trace& trace, double at_us, std::int64_t bytes, std::int64_t allocated,
           std::int64_t device = 0) {
  trace.memory.begin.push_back(TimePoint{from_us(at_us)});
  trace.memory.device.push_back(device);
  trace.memory.bytes.push_back(bytes);
  trace.memory.allocated.push_back(allocated);
}

TraceMaker one_step() {
  TraceMaker m;
  m.step(0, 100, 100);
  m.launch(110, 5, 1);
  m.kernel(120, 10, 1);
  return m;
}

// Of the step from 100 to 200 on device 0, in the order of time.
TEST(StepMemory, TheRecordedPeakIsThatOfTheSteps) {
  TraceMaker m = one_step();
  EXPECT_FALSE(recorded_memory(m.trace, link_trace(m.trace)));
  event(m.trace, 50, 1000, 1000);  // before the step
  event(m.trace, 150, 300, 1300);
  event(m.trace, 120, 500, 1500);
  event(m.trace, 130, -500, 1000);
  event(m.trace, 140, 7000, 8000, 1);  // of another device
  event(m.trace, 250, 6000, 7000);     // after it
  const auto memory = recorded_memory(m.trace, link_trace(m.trace));
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->complete);
  EXPECT_EQ(memory->peak_bytes, 1500);
}

// Changes alone: at its begin the step has 100 of this run, then 600, 200 and 900; the least is
// 100.
TEST(StepMemory, ChangesAloneTellWhatTheStepAdds) {
  TraceMaker m = one_step();
  event(m.trace, 50, 100, -1);
  event(m.trace, 120, 500, -1);
  event(m.trace, 130, -400, -1);
  event(m.trace, 150, 700, -1);
  const auto memory = recorded_memory(m.trace, link_trace(m.trace));
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->complete);
  EXPECT_EQ(memory->peak_bytes, 800);
}

// 8 x 1024 floats are 32768 bytes: the input, what is read and what is written.
TEST(StepMemory, AResultLivesUntilItsLastReader) {
  test::FlowMaker m;
  for (int i = 0; i < 5; ++i) m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, 3 * 32768);
  EXPECT_EQ(live[0].fixed_bytes, 0);
}

// In place: the input and one other tensor.
TEST(StepMemory, WhatIsWrittenInPlaceIsOneTensor) {
  test::FlowMaker m;
  m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  for (int i = 0; i < 5; ++i) m.op("aten::tanh_", "[[8,1024]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, 2 * 32768);
}

// Two views of each image, joined: 32768 bytes each, twice that together, and what is read behind
// it.
TEST(StepMemory, InputsOfOneOperationAreDifferentOnes) {
  test::FlowMaker m;
  m.op("aten::add", "[[8,1024],[8,1024],[]]", R"(["float","float","Scalar"])");
  m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, (2 + 2) * 32768);
}

// Behind its layer a sine: the node multiplies its gradient by the cosine of what was kept, which
// it lets go of when it has. Then 32768 bytes each are the sine's operand, the gradient, the cosine
// and their product; the input is the fifth.
TEST(StepMemory, WhatWasKeptForANodeLivesUntilTheNodeHasRun) {
  test::FlowMaker m;
  test::add_sine_and_gradient(m, "[8,1024]");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.back().growing_bytes, 5 * 32768);
}

/// Bytes of the worst moment of a tanh whose gradient 3 is asked with a graph (`own`: the number of
/// the node that it makes) or without one, and after that of the relu before it once more.
double peak_of_second_gradient(std::int64_t own) {
  constexpr std::string_view one = "[[8,1024]]", two = "[[8,1024],[8,1024]]";
  constexpr std::string_view of_one = R"(["float"])", of_two = R"(["float","float"])";
  const std::string node = "autograd::engine::evaluate_function: ";
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::relu", one, of_one);
  m.sequence = 2;
  m.op("aten::tanh", one, of_one);
  m.thread = 1, m.sequence = 3;
  m.op(node + "MulBackward0>aten::mul", one, of_one);
  m.sequence = 2, m.own_sequence = own;
  m.op(node + "TanhBackward0>aten::tanh_backward", two, of_two);
  m.sequence = 1, m.own_sequence = -1;
  m.op(node + "ReluBackward0>aten::threshold_backward", two, of_two);
  m.sequence = 101;
  m.op(node + "TanhBackwardBackward0>aten::mul", two, of_two);
  return worst_bytes(live_tensors(m.step(), 8));
}

// 32768 bytes each: when the relu's gradient is computed there are the input, the relu, the tanh
// (which the last node reads), its gradient and that of the relu. The tanh's gradient is curved:
// its own gradient reads what it was given, too.
TEST(StepMemory, AGradientWithAGraphKeepsWhatItsOwnGradientReads) {
  const double without = peak_of_second_gradient(-1);
  EXPECT_EQ(peak_of_second_gradient(101), without + 32768);
}

// 64 rows are a multiple of 8 items, and no operation reads the zeros nor the gradient.
TEST(StepMemory, TheGradientOfATableDoesNotGrow) {
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::embedding", "[[64,1024],[8]]", R"(["float","long int"])");
  m.thread = 1;
  m.op_on_zeros(
      "autograd::engine::evaluate_function: EmbeddingBackward0>aten::embedding_dense_backward",
      "[[8,1024],[8],[],[],[]]", R"(["float","long int","Scalar","Scalar","Scalar"])",
      "[[64,1024],[]]", R"(["","","64","-1","False"])");
  double fixed = 0;
  for (const auto& moment : live_tensors(m.step(), 8)) {
    fixed = std::max(fixed, moment.fixed_bytes);
    EXPECT_LT(moment.growing_bytes, 262144);
  }
  EXPECT_EQ(fixed, 262144);
}

// A table of 64 rows of 1024 floats (262144 bytes) is read twice; the gradient of each reading is
// rows added to zeros that the operation fills for it, and the second is added to the first. Two of
// that size are there at most, one of them to the end.
TEST(StepMemory, GradientsOfATableAreTheZerosThatTheyAreAddedTo) {
  test::FlowMaker m;
  const std::string_view rows = R"(["float","long int"])";
  for (const int i : {1, 2}) {
    m.sequence = i;
    m.op("aten::embedding", "[[64,1024],[8]]", rows);
  }
  m.thread = 1;
  for (const int i : {2, 1}) {
    m.sequence = i;
    const std::string engine = "autograd::engine::evaluate_function: EmbeddingBackward0";
    const std::string node = engine + ">EmbeddingBackward0>aten::embedding_dense_backward";
    m.op_on_zeros(node, "[[8,1024],[8],[],[],[]]",
                  R"(["float","long int","Scalar","Scalar","Scalar"])", "[[64,1024],[]]");
    if (i == 1)
      m.op(engine + ">aten::add_", "[[64,1024],[64,1024],[]]", R"(["float","float","Scalar"])");
  }
  double most = 0;
  for (const auto& moment : live_tensors(m.step(), 8)) most = std::max(most, moment.fixed_bytes);
  EXPECT_EQ(most, 2 * 262144);
}

// Of many rows the gradient sorts their indices first and fills the zeros behind that kernel: they
// are still its result, 262144 bytes, beside eight rows of 4096 that it reads.
TEST(StepMemory, GradientsOfATableAreTheZerosBehindTheirFirstKernel) {
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::embedding", "[[64,1024],[8]]", R"(["float","long int"])");
  m.thread = 1;
  m.op_on_zeros(
      "autograd::engine::evaluate_function: EmbeddingBackward0>EmbeddingBackward0>"
      "aten::embedding_dense_backward",
      "[[8,1024],[8],[],[],[]]", R"(["float","long int","Scalar","Scalar","Scalar"])",
      "[[64,1024],[]]", true);
  double most = 0;
  for (const auto& moment : live_tensors(m.step(), 8)) most = std::max(most, moment.fixed_bytes);
  EXPECT_EQ(most, 262144);
}

// Of a product without bias the layer around it tells that [32,16] is a weight, which is counted
// with the parameters: 8 x 16 floats are read and 8 x 32 written.
TEST(StepMemory, WeightsOfLayersAreNoInputs) {
  test::FlowMaker m;
  m.around_dims = "[[8,16],[32,16],[]]";
  m.around_types = R"(["float","float",""])";
  m.op("aten::linear>aten::mm", "[[8,16],[16,32]]", R"(["float","float"])");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, 8 * 16 * 4 + 8 * 32 * 4);
  EXPECT_EQ(live[0].fixed_bytes, 0);
}

// Eight items of two tokens are as many rows as the layer is wide: of 16 x 16 floats (1024 bytes)
// each, the rows, the weight and the result all look alike. The rows that are read and the result
// grow, here and where tanh reads it; the weight is counted with the parameters.
TEST(StepMemory, TokensAsManyAsALayerIsWideGrow) {
  test::FlowMaker m;
  m.around_dims = "[[8,2,16],[16,16],[]]";
  m.around_types = R"(["float","float",""])";
  m.op("aten::linear>aten::mm", "[[16,16],[16,16]]", R"(["float","float"])");
  m.op("aten::tanh", "[[8,2,16]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 8);
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.back().fixed_bytes, 0);
  EXPECT_GE(live.back().growing_bytes, 2 * 1024);
}

// One kernel reads the input and writes the result; what lies between is never in memory.
TEST(StepMemory, CompiledChainsHoldWhatTheyReadAndWrite) {
  test::FlowMaker m;
  for (int i = 0; i < 5; ++i) m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  const auto live = compiled_tensors(m.step(), dataflow(m.step()), 8, Saving::cheapest);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, 2 * 32768);
}

// 8 x 64 x 16 x 16 places of maxima take 131,072 x 8 bytes in an eager step and a byte each in
// compiled code.
TEST(StepMemory, CompiledCodeKeepsPlacesOfMaximaInAByte) {
  test::FlowMaker m;
  m.op("aten::max_pool2d_with_indices_backward",
       "[[8,64,16,16],[8,64,32,32],[],[],[],[],[],[8,64,16,16]]",
       R"(["float","float","","","","","","long int"])",
       R"(["","","[2, 2]","[2, 2]","[0, 0]","[1, 1]","False",""])");
  const Step step = m.step();
  const double eager = worst_bytes(live_tensors(step, 8));
  const double compiled = worst_bytes(compiled_tensors(step, dataflow(step), 8, Saving::cheapest));
  EXPECT_EQ(eager - compiled, 131072 * 7);
}

// Generated code writes over what only it reads: a product, then tanh of it.
TEST(StepMemory, CompiledCodeOverwritesWhatNobodyNeeds) {
  const auto growing = [](bool compiled) {
    test::FlowMaker m;
    m.around_dims = "[[8,16],[1024,16],[]]";
    m.around_types = R"(["float","float",""])";
    m.op("aten::linear>aten::mm", "[[8,16],[16,1024]]", R"(["float","float"])");
    m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
    const Step step = m.step();
    return worst_bytes(compiled ? compiled_tensors(step, dataflow(step), 8, Saving::cheapest)
                                : live_tensors(step, 8));
  };
  EXPECT_EQ(growing(false), 512 + 2 * 32768);
  EXPECT_EQ(growing(true), 512 + 32768);
}

// 8 x 16 x 16 floats are 8192 bytes: the input and both parts of the list; with the whole (16384),
// what the convolution makes of it and the norm of that (32768 each) 106496. The list is named
// until the convolution's module has returned.
TEST(StepMemory, AListLivesUntilTheModuleThatItWasJoinedForReturns) {
  test::FlowMaker m;
  m.op("aten::tanh", "[[8,16,4,4]]", R"(["float"])");
  m.op("aten::sigmoid", "[[8,16,4,4]]", R"(["float"])");
  m.op("aten::cat", "[[[8,16,4,4],[8,16,4,4]],[]]", R"(["TensorList","Scalar"])", R"(["","1"])");
  m.op("aten::conv2d>aten::cudnn_convolution", "[[8,32,4,4],[64,32,1,1],[],[],[],[],[],[],[]]",
       R"(["float","float","","","","","","",""])",
       R"(["","","[0, 0]","[1, 1]","[1, 1]","1","False","False","True"])");
  m.op("aten::batch_norm>aten::cudnn_batch_norm", "[[8,64,4,4],[64],[64],[64],[64],[],[],[]]",
       R"(["float","float","float","float","float","Scalar","Scalar","Scalar"])");
  const auto live = live_tensors(m.step(), 8);
  EXPECT_EQ(worst_bytes(live), 3 * 8192 + 16384 + 2 * 32768);
}

// 4096 nodes of 64 floats, 1 MiB, and 16384 rows picked of them, 4 MiB, of which the trace tells
// the shape where they are added. The gradient of that sum reads none of them, and they are kept.
TEST(StepMemory, RowsThatWereAddedAreKeptForTheirGradient) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[4096,64]]", R"(["float"])");
  m.op("aten::zeros_like>aten::fill_", "[[4096,64],[]]", R"(["float","Scalar"])");
  for (m.sequence = 2; m.sequence < 4; ++m.sequence) {  // the first time without a gradient
    m.op("aten::index", "[[4096,64],[]]", R"(["float",""])");
    m.op("aten::index_add_", "[[4096,64],[],[16384],[16384,64],[]]",
         R"(["float","Scalar","long int","float","Scalar"])");
  }
  m.op("aten::tanh", "[[4096,64]]", R"(["float"])");
  m.thread = 1;
  m.forward_thread = 1;
  m.sequence = 4;
  m.op("TanhBackward0>aten::tanh_backward", "[[4096,64],[4096,64]]", R"(["float","float"])");
  m.sequence = 3;
  m.op("IndexAddBackward0>aten::index_select", "[[4096,64],[],[16384]]",
       R"(["float","Scalar","long int"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 9U);
  for (const std::uint32_t sum : {3U, 5U}) {
    const FlowUse& rows = flow.inputs_of(flow.ops[sum]).back();
    EXPECT_EQ(flow.tensors[rows.tensor].producer, sum - 1);
    EXPECT_EQ(flow.tensors[rows.tensor].elements, 16384 * 64);
  }
  double most = 0;
  for (const MemoryMoment& moment : live_tensors(m.step(), 1))
    most = std::max(most, moment.bytes());
  EXPECT_GE(most, 2 * 16384 * 64 * 4.0);  // beside the gradients of the rows
}

constexpr std::string_view engine = "autograd::engine::evaluate_function: ";

/// Until which operation the tensors of a training step live, as its peak beside that of the step
/// without the operation: tanh of 8 x 1024 floats (32768 bytes), `name`, relu, and both gradients.
double peak_with(std::string_view name, std::string_view dims, std::string_view types,
                 const std::vector<std::array<std::string_view, 3>>& gradient) {
  test::FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  m.sequence = 2;
  m.op(name, dims, types);
  m.sequence = 3;
  for (int i = 0; i < 4; ++i) m.op("aten::neg", "[[8,1024]]", R"(["float"])");
  m.thread = 1;
  m.op(std::string(engine) + "NegBackward0>aten::neg", "[[8,1024]]", R"(["float"])");
  m.sequence = 2;
  for (const auto& [path, operands, kinds] : gradient) {
    m.op(std::string(engine) + std::string(path), operands, kinds);
    m.within_last = true;
  }
  return worst_bytes(live_tensors(m.step(), 8));
}

// A quotient of two tensors: the input of the step, what nobody reads any longer and two that are
// at work. Where the divisor has a gradient, too, the dividend is divided once more and was kept.
TEST(StepMemory, ADividendIsKeptForTheGradientOfItsDivisor) {
  constexpr std::string_view two = R"(["float","float"])", both = "[[8,1024],[8,1]]";
  const double alone = peak_with("aten::div", both, two, {{"DivBackward0>aten::div", both, two}});
  const double kept = peak_with("aten::div", both, two,
                                {{"DivBackward0>aten::div", both, two},
                                 {"DivBackward0>aten::neg", "[[8,1024]]", R"(["float"])"},
                                 {"DivBackward0>aten::div", both, two},
                                 {"DivBackward0>aten::mul", "[[8,1024],[8,1024]]", two}});
  EXPECT_GE(kept, alone + 32768);
}

// Places of 8 x 1024 of as many are picked: autograd keeps the tensor for its size.
TEST(StepMemory, WhatElementsArePickedFromIsKept) {
  constexpr std::string_view kinds = R"(["float","Scalar","long int","Scalar"])";
  constexpr std::string_view dims = "[[8,1024],[],[8,1024],[]]";
  const std::vector<std::array<std::string_view, 3>> scatter = {
      {"GatherBackward0>aten::scatter_add_", "[[8,1024],[],[8,1024],[8,1024]]",
       R"(["float","Scalar","long int","float"])"}};
  const double picked = peak_with("aten::gather", dims, kinds, scatter);
  const double other = peak_with("aten::neg", "[[8,1024]]", R"(["float"])", scatter);
  EXPECT_GE(picked, other + 32768);
}

// What is bounded by a number is compared with it once more for its gradient, which the trace shows
// as an operation on a tensor of that size.
TEST(StepMemory, WhatIsBoundedIsKeptForItsGradient) {
  constexpr std::string_view kinds = R"(["float","float"])", dims = "[[8,1024],[]]";
  const std::vector<std::array<std::string_view, 3>> compared = {
      {"MaximumBackward0>aten::div", "[[8,1024],[]]", R"(["float","Scalar"])"},
      {"MaximumBackward0>aten::masked_fill_", "[[8,1024],[8,1024],[]]",
       R"(["float","bool","Scalar"])"}};
  const double bounded = peak_with("aten::maximum", dims, kinds, compared);
  const double other = peak_with("aten::neg", "[[8,1024]]", R"(["float"])", compared);
  EXPECT_GE(bounded, other + 32768);
}

// Zeros of 8 x 1024 floats and 8 x 512 that are copied into them: one tensor, beside the input and
// what it was made of (16384 bytes each).
TEST(StepMemory, WhatIsCopiedIntoZerosMadeForItIsPartOfThem) {
  test::FlowMaker m;
  m.op("aten::tanh", "[[8,512]]", R"(["float"])");
  m.op("aten::constant_pad_nd>aten::fill_", "[[8,1024],[]]", R"(["float","Scalar"])");
  m.within_last = true;
  m.op("aten::constant_pad_nd>aten::copy_", "[[8,512],[8,512],[]]",
       R"(["float","float","Scalar"])");
  m.within_last = false;
  m.op("aten::tanh", "[[8,1024]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 8);
  EXPECT_EQ(worst_bytes(live), 16384 + 2 * 32768);
}

// Three experts' products of 8 x 16 floats, into parts of a tensor that an operation around them
// made: of the step are the input and what follows.
TEST(StepMemory, ProductsIntoAGivenResultAreNoTensors) {
  const auto peak = [](int experts) {
    test::FlowMaker m;
    m.op("aten::tanh", "[[8,32]]", R"(["float"])");
    for (int i = 0; i < experts; ++i) {
      m.op("aten::_grouped_mm>aten::mm", "[[8,32],[32,16],[8,16]]", R"(["float","float","float"])");
      m.within_last = true;
    }
    m.within_last = false;
    m.op("aten::tanh", "[[8,32]]", R"(["float"])");
    return worst_bytes(live_tensors(m.step(), 8));
  };
  EXPECT_EQ(peak(3), peak(1));
}

TEST(StepMemory, NothingWithoutShapes) {
  test::FlowMaker m;
  m.op("aten::tanh", "", "");
  EXPECT_TRUE(live_tensors(m.step(), 8).empty());
}

}  // namespace
}  // namespace tandem
