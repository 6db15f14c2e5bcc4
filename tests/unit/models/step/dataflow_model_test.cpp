// What of a step is forward, backward or the optimizer's, and what of it is the model, pass by
// pass.
#include <gtest/gtest.h>

#include "models/step/dataflow.h"
#include "tests/unit/models/step/training_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::backward_node;
using test::FlowMaker;
using test::half2;
using test::maker_of;
using test::small_training;

TEST(Dataflow, TheModelEndsWhereTheLossBeginsInBothDirections) {
  const Dataflow flow = small_training();
  ASSERT_EQ(flow.ops.size(), 7U);
  const bool in_model[] = {true, true, false, false, true, true, false};
  const FlowPhase phases[] = {FlowPhase::forward,  FlowPhase::forward,  FlowPhase::forward,
                              FlowPhase::backward, FlowPhase::backward, FlowPhase::backward,
                              FlowPhase::other};
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    EXPECT_EQ(flow.ops[i].in_model, in_model[i]) << i;
    EXPECT_EQ(flow.ops[i].phase, phases[i]) << i;
  }
}

/// A layer, its loss and the backward of both, numbered from `first` on.
void add_pass(FlowMaker& m, std::int64_t first) {
  m.thread = 0, m.sequence = first;
  m.op("aten::mm", "[[8,16],[16,16]]", half2);
  m.sequence = first + 1;
  m.op("aten::mse_loss", "[[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.thread = 1;
  m.op(std::string(backward_node) + "MseLossBackward0>aten::mse_loss_backward",
       "[[],[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","c10::Half","Scalar"])");
  m.sequence = first;
  m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", "[[16,8],[8,16]]", half2);
}

// Gradients of two batches are added up: a pass begins with what runs behind the gradients of the
// one before, and what runs behind the last ones is the optimizer's.
TEST(Dataflow, EachPassHasAModelOfItsOwn) {
  FlowMaker m;
  add_pass(m, 1);
  m.thread = 0, m.sequence = -1;
  m.op("aten::mul", "[[8,16],[8,16]]", half2);  // of the next batch
  add_pass(m, 3);
  m.thread = 0, m.sequence = -1;
  m.op("aten::mul", "[[16,16],[16,16]]", half2);  // clips gradients
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 10U);
  EXPECT_EQ(flow.passes(), 2U);
  const std::uint32_t pass[] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const bool in_model[] = {true, false, false, true, true, true, false, false, true, false};
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    EXPECT_EQ(flow.ops[i].pass, pass[i]) << i;
    EXPECT_EQ(flow.ops[i].in_model, in_model[i]) << i;
  }
  EXPECT_EQ(flow.ops.back().phase, FlowPhase::other);
}

// 16 rows of 16 columns are as large as the weight: in the second pass neither the weight, nor what
// it is converted from, is the gradient that the first one left, nor is the operand of the first
// pass's product what the second one's gradient was kept of.
TEST(Dataflow, ALaterPassReadsNothingOfAnEarlierOne) {
  constexpr std::string_view float2 = R"(["float","float"])", square = "[[16,16],[16,16]]";
  FlowMaker m;
  for (std::int64_t first = 1; first <= 11; first += 10) {
    m.thread = 0, m.sequence = first;
    m.op("aten::mm", square, float2);
    m.sequence = first + 1;
    m.op("aten::tanh", "[[16,16]]", R"(["float"])");
    m.thread = 1;
    m.op(std::string(backward_node) + "TanhBackward0>TanhBackward0>aten::tanh_backward", square,
         float2);
    m.sequence = first;
    m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", square, float2);
  }
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 8U);
  ASSERT_EQ(flow.passes(), 2U);
  for (std::size_t i = 4; i < 8; ++i) {
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
      const std::uint32_t maker = flow.tensors[use.tensor].producer;
      EXPECT_TRUE(maker == no_row || flow.ops[maker].pass == 1) << i;
    }
  }
}

// What a penalty computes of gradients before it takes theirs is no pass: no layer runs.
TEST(Dataflow, AGradientOfGradientsIsOfThePassOfItsModel) {
  FlowMaker m;
  add_pass(m, 1);
  m.thread = 0, m.sequence = 3;
  m.op("aten::mul", "[[8,16],[8,16]]", half2);
  m.thread = 1;
  m.op(std::string(backward_node) + "MulBackward0>MulBackward0>aten::mul", "[[8,16],[8,16]]",
       half2);
  const Dataflow flow = dataflow(m.step());
  EXPECT_EQ(flow.passes(), 1U);
}

// A penalty of slopes: the gradient 2 is asked with a graph of its own (its operation has the
// number 101 of the node that it makes), then the layer 3 runs, then the gradients of all. One
// pass, and the layer is of the model.
TEST(Dataflow, LayersBehindAGradientWithAGraphAreOfItsPass) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::mm", "[[8,16],[16,16]]", half2);
  m.sequence = 2;
  m.op("aten::tanh", "[[8,16]]", R"(["c10::Half"])");
  m.thread = 1, m.own_sequence = 101;
  const std::string node = std::string(backward_node) + "TanhBackward0>TanhBackward0>";
  m.op(node + "aten::tanh_backward", "[[8,16],[8,16]]", half2);
  m.thread = 0, m.sequence = 3, m.own_sequence = -1;
  m.op("aten::mm", "[[8,16],[16,16]]", half2);
  m.thread = 1;
  m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", "[[8,16],[16,16]]", half2);
  m.sequence = 101;
  m.op(std::string(backward_node) + "TanhBackwardBackward0>TanhBackwardBackward0>aten::mul",
       "[[8,16],[8,16]]", half2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 6U);
  EXPECT_EQ(flow.passes(), 1U);
  const std::int64_t makes[] = {-1, -1, 101, -1, -1, -1};
  for (std::size_t i = 0; i < flow.ops.size(); ++i) EXPECT_EQ(flow.ops[i].makes, makes[i]) << i;
  EXPECT_TRUE(flow.ops[3].in_model);
}

// Logits but those of the last token, copied and converted for the loss: slice 2, copy 3, cast 4.
TEST(Dataflow, CopiesBeforeTheLossAreNotOfTheModelNorIsTheGradientOfAPart) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::mm", "[[8,16],[16,32]]", half2);
  m.sequence = 3;
  m.op("aten::reshape>aten::copy_", "[[7,32],[7,32],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.sequence = 4;
  m.op("aten::to>aten::copy_", "[[7,32],[7,32],[]]", R"(["float","c10::Half","Scalar"])");
  m.sequence = 5;
  m.op("aten::mse_loss", "[[7,32],[7,32],[]]", R"(["float","float","Scalar"])");
  m.thread = 1;
  m.op(std::string(backward_node) + "MseLossBackward0>aten::mse_loss_backward",
       "[[],[7,32],[7,32],[]]", R"(["float","float","float","Scalar"])");
  m.sequence = 2;
  m.op(std::string(backward_node) + "SliceBackward0>SliceBackward0>aten::copy_",
       "[[7,32],[7,32],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.sequence = 1;
  m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", "[[16,8],[8,32]]", half2);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 7U);
  const bool in_model[] = {true, false, false, false, false, false, true};
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    EXPECT_EQ(flow.ops[i].in_model, in_model[i]) << i;
  }
}

// In networks nodes of views stand in no sequence: those behind the gradients of the loss belong to
// the model; what stores the gradient of a parameter does not, neither does what runs in no node.
TEST(Dataflow, NodesOfViewsBelongToTheModelBehindItsLoss) {
  FlowMaker m;
  const auto node = [&](const std::string& name) {
    m.op(std::string(backward_node) + name + ">aten::clone", "[[8,16]]", R"(["c10::Half"])");
  };
  m.thread = 0, m.sequence = 1;
  m.op("aten::mm", "[[8,16],[16,16]]", half2);
  m.sequence = 2;
  m.op("aten::mse_loss", "[[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.thread = 1;
  m.op(std::string(backward_node) + "MseLossBackward0>aten::mse_loss_backward",
       "[[],[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","c10::Half","Scalar"])");
  m.sequence = -1;
  node("ViewBackward0");
  m.sequence = 1;
  m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", "[[16,8],[8,16]]", half2);
  m.sequence = -1;
  node("TransposeBackward0");
  node("torch::autograd::AccumulateGrad");
  const Dataflow flow = dataflow(m.step());
  const bool in_model[] = {true, false, false, false, true, true, false};
  ASSERT_EQ(flow.ops.size(), std::size(in_model));
  for (std::size_t i = 0; i < std::size(in_model); ++i)
    EXPECT_EQ(flow.ops[i].in_model, in_model[i]) << i;
}

// A code has a loss of its own before the layers that read it; that of the step is the last one.
TEST(Dataflow, ALossWithLayersBehindItIsPartOfTheModel) {
  FlowMaker m;
  const std::string_view one = R"(["float"])", two = R"(["float","float"])";
  const auto layer = [&] {
    m.around_dims = "[[8,16],[32,16],[]]";
    m.around_types = R"(["float","float",""])";
    m.op("aten::linear>aten::mm", "[[8,16],[16,32]]", two);
    m.around_dims = m.around_types = {};
  };
  layer();
  m.op("aten::mse_loss", "[[8,32],[8,32],[]]", R"(["float","float","Scalar"])");
  layer();
  m.op("aten::mse_loss", "[[8,32],[8,32],[]]", R"(["float","float","Scalar"])");
  m.op("aten::tanh", "[[8,16]]", one);
  const Dataflow flow = dataflow(m.step());
  const bool in_model[] = {true, true, true, false, false};
  ASSERT_EQ(flow.ops.size(), std::size(in_model));
  for (std::size_t i = 0; i < std::size(in_model); ++i)
    EXPECT_EQ(flow.ops[i].in_model, in_model[i]) << i;
}

TEST(Dataflow, OldProfilersOnlyNoteTheForwardThreadOfBackwardOperations) {
  FlowMaker m;
  m.sequence = 4;
  m.op("aten::relu", "[[8,16]]", R"(["float"])");
  m.thread = 1;
  m.forward_thread = 1;
  m.op("ReluBackward1>aten::threshold_backward", "[[8,16],[8,16],[]]",
       R"(["float","float","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(flow.ops[1].phase, FlowPhase::backward);
  EXPECT_TRUE(flow.ops[1].in_model);
  EXPECT_EQ(maker_of(flow, 1, 1), 0U);  // the result of relu
}

}  // namespace
}  // namespace tandem
