// What the gradient of a norm is added to: what the sum further on, which read the same tensor, has
// handed on.
#include "models/step/binding/gathered_gradients.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::maker_of;
using test::two_floats;

constexpr const char* one_float = R"(["float"])";
const std::string gradient_node = "autograd::engine::evaluate_function: ";

void norm(FlowMaker& m) {
  m.op("aten::layer_norm>aten::native_layer_norm", "[[2,4,16],[],[16],[16],[]]",
       R"(["float","ScalarList","float","float","Scalar"])");
}

// Two operations: what the norm gives is added to another gradient within its node.
void norm_backward(FlowMaker& m) {
  const std::string node = gradient_node + "NativeLayerNormBackward0";
  m.op(node + ">NativeLayerNormBackward0>aten::native_layer_norm_backward",
       "[[2,4,16],[2,4,16],[],[2,4,1],[2,4,1],[16],[16],[]]",
       R"(["float","float","ScalarList","float","float","float","float",""])");
  m.within_last = true;
  m.op(node + ">aten::add_", "[[2,4,16],[2,4,16],[]]", two_floats);
  m.within_last = false;
}

// Forward, each by its number of autograd: 1 relu, 2 norm, 3 layer, 4 scale, 5 sum of relu and
// scale, 6 sigmoid. All but the layer's weights are 128 elements.
void forward(FlowMaker& m) {
  m.sequence = 1;
  m.op("aten::relu", "[[2,4,16]]", one_float);
  m.sequence = 2;
  norm(m);
  m.sequence = 3;
  m.op("aten::linear>aten::addmm", "[[16],[8,16],[16,16],[],[]]",
       R"(["float","float","float","Scalar","Scalar"])");
  m.sequence = 4;
  m.op("aten::mul", "[[2,4,16],[16]]", two_floats);
  m.sequence = 5;
  m.op("aten::add", "[[2,4,16],[2,4,16],[]]", two_floats);
  m.sequence = 6;
  m.op("aten::sigmoid", "[[2,4,16]]", one_float);
}

// 6 is the gradient of the sum, which the sum hands to the scale and to the relu; 7 that of the
// layer, 8 of the norm, 9 of what the norm read, which 10 adds to what the relu was handed.
void backward(FlowMaker& m) {
  m.thread = 1;
  m.forward_thread = 1;
  m.sequence = 6;
  m.op(gradient_node + "SigmoidBackward0>aten::sigmoid_backward", "[[2,4,16],[2,4,16]]",
       two_floats);
  m.sequence = 4;
  m.op(gradient_node + "MulBackward0>aten::mul", "[[2,4,16],[16]]", two_floats);
  m.sequence = 3;
  m.op(gradient_node + "AddmmBackward0>aten::mm", "[[8,16],[16,16]]", two_floats);
  m.sequence = 2;
  norm_backward(m);
}

TEST(GatheredGradients, MeetWhatTheSumHandedOn) {
  FlowMaker m;
  forward(m);
  backward(m);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 11U);
  EXPECT_EQ(maker_of(flow, 4, 0), 3U);  // a scaled branch is added to another one, not to itself
  EXPECT_EQ(maker_of(flow, 4, 1), 0U);
  EXPECT_EQ(maker_of(flow, 10, 0), 9U);
  EXPECT_EQ(maker_of(flow, 10, 1), 6U);
}

// The sum is not read again, so that nothing hands its gradient on: what meets is not known, and
// the latest tensor that fits is taken.
TEST(GatheredGradients, NothingIsKnownOfWhatNobodyRead) {
  FlowMaker m;
  m.sequence = 2;
  norm(m);
  m.thread = 1;
  m.forward_thread = 1;
  norm_backward(m);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(maker_of(flow, 2, 0), 1U);
  EXPECT_EQ(maker_of(flow, 2, 1), no_row);
}

}  // namespace
}  // namespace tandem
