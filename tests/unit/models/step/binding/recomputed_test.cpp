// Operations of the backward pass that repeat forward ones.
#include "models/step/binding/recomputed.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "models/step/memory/step_memory.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::maker_of;

constexpr std::string_view of_one = R"(["float"])", of_two = R"(["float","float"])";
constexpr std::string_view items = "[[8,1024]]", two_items = "[[8,1024],[8,1024]]";
const std::string within = "autograd::engine::evaluate_function: ";

/// Operations 0 tanh and 1 sigmoid, of which nothing is kept, and 2 relu; then 3 the relu's
/// gradient, and in the node of the sigmoid 4 tanh and 5 sigmoid again before 6 its gradient, then
/// 7 that of the tanh. `again`: autograd numbers of what runs again, from the first one on.
Dataflow checkpointed(FlowMaker& m, std::int64_t again) {
  m.sequence = 1;
  m.op("aten::tanh", items, of_one);
  m.sequence = 2;
  m.op("aten::sigmoid", items, of_one);
  m.sequence = 3;
  m.op("aten::relu", items, of_one);
  m.thread = 1;
  m.op(within + "ReluBackward0>aten::threshold_backward", two_items, of_two);
  m.sequence = 2;
  m.own_sequence = again;
  m.op(within + "SigmoidBackward0>aten::tanh", items, of_one);
  m.within_last = true;
  m.own_sequence = again + 1;
  m.op(within + "SigmoidBackward0>aten::sigmoid", items, of_one);
  m.own_sequence = -1;
  m.op(within + "SigmoidBackward0>aten::sigmoid_backward", two_items, of_two);
  m.within_last = false;
  m.sequence = 1;
  m.op(within + "TanhBackward0>aten::tanh_backward", two_items, of_two);
  return dataflow(m.step());
}

TEST(Recomputed, GradientsReadWhatWasComputedAgain) {
  FlowMaker m;
  const Dataflow flow = checkpointed(m, 101);
  ASSERT_EQ(flow.ops.size(), 8U);
  EXPECT_EQ(flow.ops[4].repeats, 0U);
  EXPECT_EQ(flow.ops[5].repeats, 1U);
  EXPECT_TRUE(runs_forward(flow.ops[4]));
  EXPECT_FALSE(runs_backward(flow.ops[5]));
  EXPECT_TRUE(runs_backward(flow.ops[6]));
  EXPECT_EQ(maker_of(flow, 5, 0), 4U);  // the sigmoid reads the tanh that runs again
  EXPECT_EQ(maker_of(flow, 6, 0), 3U);  // and its gradient that of the relu,
  EXPECT_EQ(maker_of(flow, 6, 1), 5U);  // beside the second sigmoid
  EXPECT_EQ(maker_of(flow, 7, 0), 6U);
  EXPECT_EQ(maker_of(flow, 7, 1), 4U);
}

TEST(Recomputed, AnOperationOfTheNodeRepeatsNothing) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::tanh", items, of_one);
  m.thread = 1;
  m.op(within + "TanhBackward0>aten::tanh", items, of_one);  // has the number of its node
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(flow.ops[1].repeats, no_row);
}

// 32768 bytes a tensor. Input, tanh and sigmoid of the forward pass are gone but for the input and
// what the relu leaves for its gradient: at the most the input, the relu's gradient, the second
// tanh and sigmoid and the gradient that is being made are there, 5 tensors; with all that the
// forward pass made there would be tanh, sigmoid and relu, which are dropped one by one, instead.
TEST(Recomputed, TheForwardPassKeepsNothingOfIt) {
  FlowMaker m;
  checkpointed(m, 101);
  const auto live = live_tensors(m.step(), 8);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].growing_bytes, 5 * 32768);
}

}  // namespace
}  // namespace tandem
