// Which of two tensors as large a layer reads: what a norm read or made, what the layer beside it
// read or made.
#include "models/step/binding/norm_order.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::maker_of;
using test::two_floats;

const std::string norm_node = "autograd::engine::evaluate_function: NativeLayerNormBackward0";

/// Of operands of that type, as add_layer() and add_sum().
void add_norm(FlowMaker& m, const std::string& type = "float") {
  const std::string t = '"' + type + '"';
  m.op("aten::layer_norm>aten::native_layer_norm", "[[2,4,16],[],[16],[16],[]]",
       "[" + t + R"(,"ScalarList",)" + t + "," + t + R"(,"Scalar"])");
}

void add_layer(FlowMaker& m, const std::string& type = "float") {
  const std::string t = '"' + type + '"';
  m.op("aten::linear>aten::addmm", "[[16],[8,16],[16,16],[],[]]",
       "[" + t + "," + t + "," + t + R"(,"Scalar","Scalar"])");
}

void add_sum(FlowMaker& m, std::string_view types = two_floats) {
  m.op("aten::add", "[[2,4,16],[2,4,16],[]]", types);
}

/// What the sum behind a norm and a layer reads, by the operations that made it.
std::set<std::uint32_t> summed(const Dataflow& flow, std::size_t sum) {
  return {maker_of(flow, sum, 0), maker_of(flow, sum, 1)};
}

// 0: relu, 1: norm, 2: layer, 3: sum.
TEST(NormOrder, NothingShownTheSumReadsWhatTheNormMade) {
  FlowMaker m;
  m.op("aten::relu", "[[2,4,16]]", R"(["float"])");
  add_norm(m);
  add_layer(m);
  add_sum(m);
  EXPECT_EQ(summed(dataflow(m.step()), 3), (std::set<std::uint32_t>{1, 2}));
}

// Rows of 16 elements that lie 4 apart: a norm makes none such, so they are what it read, and the
// layer's result in order is the second operand.
TEST(NormOrder, AnOperandThatLiesTurnedIsWhatTheNormRead) {
  FlowMaker m;
  m.op("aten::relu", "[[2,4,16]]", R"(["float"])");
  add_norm(m);
  add_layer(m);
  m.strides = "[[64,1,4],[64,16,1],[]]";
  add_sum(m);
  const Dataflow flow = dataflow(m.step());
  EXPECT_EQ(maker_of(flow, 3, 0), 0U);
  EXPECT_EQ(maker_of(flow, 3, 1), 2U);
}

// Pictures of 2 x 2 places with 16 channels each, to which where they are is added.
TEST(NormOrder, NetworksOfPatchesHaveTheNormFirst) {
  FlowMaker m;
  test::add_half_convolution(m, "2,3,2,2", "16,3,3,3");
  m.op("aten::add", "[[2,4,16],[1,4,16],[]]", test::half2);
  add_norm(m, "c10::Half");
  add_layer(m, "c10::Half");
  add_sum(m, test::half2);
  EXPECT_EQ(summed(dataflow(m.step()), 4), (std::set<std::uint32_t>{1, 3}));
}

/// The same as without pictures, and the gradients of norm and relu; `meets`: that of the norm
/// meets another one right behind it.
Dataflow trained(bool meets) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::relu", "[[2,4,16]]", R"(["float"])");
  m.sequence = 2;
  add_norm(m);
  m.sequence = 3;
  add_layer(m);
  m.sequence = 4;
  add_sum(m);
  m.thread = 1;
  m.forward_thread = 1;
  m.sequence = 2;
  m.op(norm_node + ">NativeLayerNormBackward0>aten::native_layer_norm_backward",
       "[[2,4,16],[2,4,16],[],[2,4,1],[2,4,1],[16],[16],[]]",
       R"(["float","float","ScalarList","float","float","float","float",""])");
  if (meets) {
    m.within_last = true;
    m.op(norm_node + ">aten::add_", "[[2,4,16],[2,4,16],[]]", two_floats);
  }
  return dataflow(m.step());
}

TEST(NormOrder, GradientsThatMeetBehindANormTellThatItIsFirst) {
  EXPECT_EQ(summed(trained(true), 3), (std::set<std::uint32_t>{0, 2}));
  EXPECT_EQ(summed(trained(false), 3), (std::set<std::uint32_t>{1, 2}));
}

// 0: norm, 1 to 3: queries, keys and values, 4: attention.
TEST(LayersBeside, QueriesKeysAndValuesReadOneTensor) {
  FlowMaker m;
  add_norm(m);
  for (int i = 0; i < 3; ++i) add_layer(m);
  m.op("aten::scaled_dot_product_attention>aten::_scaled_dot_product_flash_attention",
       "[[2,2,4,8],[2,2,4,8],[2,2,4,8],[],[],[],[]]",
       R"(["float","float","float","Scalar","Scalar","Scalar","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  for (std::size_t layer = 1; layer <= 3; ++layer) EXPECT_EQ(maker_of(flow, layer, 1), 0U);
  const std::set<std::uint32_t> read{maker_of(flow, 4, 0), maker_of(flow, 4, 1),
                                     maker_of(flow, 4, 2)};
  EXPECT_EQ(read, (std::set<std::uint32_t>{1, 2, 3}));
}

// A layer of 16 columns and one of 32 behind it, the halves of which are a value and its gate.
TEST(LayersBeside, GatesAreMadeOfWhatALayerMade) {
  FlowMaker m;
  add_norm(m);
  add_layer(m);
  m.op("aten::linear>aten::addmm", "[[32],[8,16],[16,32],[],[]]",
       R"(["float","float","float","Scalar","Scalar"])");
  EXPECT_EQ(maker_of(dataflow(m.step()), 2, 1), 1U);
}

// Something computed between them: the second layer reads the first one's result.
TEST(LayersBeside, BehindAnActivationALayerReadsIt) {
  FlowMaker m;
  add_norm(m);
  add_layer(m);
  m.op("aten::gelu", "[[2,4,16]]", R"(["float"])");
  add_layer(m);
  EXPECT_EQ(maker_of(dataflow(m.step()), 3, 1), 2U);
}

}  // namespace
}  // namespace tandem
