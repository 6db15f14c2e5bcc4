// Conversions of the user's code that an FP32 trace records without work.
#include <gtest/gtest.h>

#include "models/whatif/precision/types/conversions.h"
#include "models/whatif/precision/types/types.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;

constexpr const char* to_types = R"(["float","Scalar","Scalar","Scalar",""])";

/// A layer of 64 x 32 and two lookups of the same size, stacked; `converted` of the three operands
/// pass through `x.to(dtype)` before.
Step stacked(int converted) {
  FlowMaker m;
  m.op("aten::addmm", "[[32],[64,16],[16,32],[],[]]",
       R"(["float","float","float","Scalar","Scalar"])", "", "sgemm");
  m.op("aten::embedding", "[[500,32],[64]]", R"(["float","long int"])");
  m.op("aten::embedding", "[[500,32],[64]]", R"(["float","long int"])");
  for (int i = 0; i < converted; ++i) m.idle("aten::to", "[[64,32],[],[],[],[]]", to_types);
  m.op("aten::stack>aten::cat", "[[[64,32],[64,32],[64,32]],[]]", R"(["TensorList","Scalar"])");
  return m.step();
}

std::size_t conversions(const Step& step) {
  const Dataflow flow = dataflow(step);
  std::size_t n = 0;
  for (const PlannedCast& cast : autocast(step.trace, flow, DataType::fp16, 256).casts) {
    n += flow.ops[cast.op].op == flow.ops.back().op && cast.elements == 64 * 32;
  }
  return n;
}

TEST(PrecisionConversions, SomeOfAListFollowTheOthers) { EXPECT_EQ(conversions(stacked(2)), 2U); }

TEST(PrecisionConversions, AllOrNoneOfAListStay) {
  EXPECT_EQ(conversions(stacked(0)), 0U);
  EXPECT_EQ(conversions(stacked(3)), 0U);
}

TEST(PrecisionConversions, OnlyThoseWithoutWorkCount) {
  const Step step = stacked(2);
  EXPECT_EQ(idle_conversions(step.trace, dataflow(step).nesting).size(), 2U);
  FlowMaker m;  // to another device: eight arguments
  m.op("aten::relu", "[[64,32]]", R"(["float"])");
  m.idle("aten::to", "[[64,32],[],[],[],[],[],[],[]]",
         R"(["float","Scalar","Scalar","","","Scalar","Scalar",""])");
  m.op("aten::relu", "[[64,32]]", R"(["float"])");
  const Step other = m.step();
  EXPECT_TRUE(idle_conversions(other.trace, dataflow(other).nesting).empty());
}

/// Backward casts of a step of two layers of 64 x 64, each behind a tanh; of a frozen one no
/// gradient is asked, so that it has the number of the layer behind it.
std::size_t casts_of_gradients(bool frozen) {
  constexpr const char* types = R"(["float","float","float","Scalar","Scalar"])";
  constexpr const char* layer = "[[64],[64,64],[64,64],[],[]]";
  FlowMaker m;
  m.sequence = frozen ? 2 : 0;
  m.op("aten::tanh", "[[64,64]]", R"(["float"])");
  m.sequence = frozen ? 2 : 1;
  m.op("aten::linear>aten::addmm", layer, types, "", "sgemm");
  m.sequence = 2;
  m.op("aten::linear>aten::addmm", layer, types, "", "sgemm");
  m.thread = 1;
  m.forward_thread = 1;
  const auto backward = [&](std::int64_t sequence) {
    m.sequence = sequence;
    m.op("autograd::engine::evaluate_function: AddmmBackward0>aten::mm", "[[64,64],[64,64]]",
         R"(["float","float"])", "", "sgemm");
  };
  backward(2);
  if (!frozen) backward(1);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  std::size_t n = 0;
  for (const PlannedCast& cast : autocast(step.trace, flow, DataType::fp16, 256).casts) {
    n += flow.ops[cast.op].phase == FlowPhase::backward;
  }
  return n;
}

// A layer's gradients are cast back: of input, weight and bias. The second layer reads 16 bits of
// the first one, so that its input's gradient is cast only where the tanh before it stands alone.
TEST(PrecisionConversions, AFrozenLayerCastsNoGradients) {
  const std::size_t one = casts_of_gradients(true), both = casts_of_gradients(false);
  EXPECT_GE(one, 2U);         // weight and bias of the last layer
  EXPECT_GE(both, one + 2U);  // and those of the first one
}

/// The type that autocast gives to the operation before the last one.
DataType type_before_last(const Step& step) {
  const Dataflow flow = dataflow(step);
  return autocast(step.trace, flow, DataType::fp16, 256).ops.at(flow.ops.size() - 2);
}

/// A layer of 64 x 32; a half of each of its rows and another layer's result, `converted` to FP32
/// by a norm or not, are joined. The trace names no types of a list.
Step joined_halves(bool normalised) {
  constexpr const char* types = R"(["float","float","float","Scalar","Scalar"])";
  FlowMaker m;
  m.op("aten::addmm", "[[32],[64,16],[16,32],[],[]]", types, "", "sgemm");
  m.op("aten::addmm", "[[16],[64,16],[16,16],[],[]]", types, "", "sgemm");
  if (normalised) {
    m.op("aten::native_layer_norm", "[[64,16],[],[16],[16],[]]",
         R"(["float","ScalarList","float","float","Scalar"])");
  }
  m.idle("aten::split_with_sizes", "[[64,32],[],[]]", R"(["float","ScalarList","Scalar"])");
  m.strides = "[[[32,1],[16,1]],[]]";
  m.op("aten::cat", "[[[64,16],[64,16]],[]]", R"(["TensorList","Scalar"])");
  m.strides.clear();
  m.op("aten::tanh", "[[64,32]]", R"(["float"])");  // tells what was joined
  return m.step();
}

TEST(PrecisionConversions, APartIsJoinedInTheTypeOfItsWhole) {
  EXPECT_EQ(type_before_last(joined_halves(false)), DataType::fp16);
  EXPECT_EQ(type_before_last(joined_halves(true)), DataType::fp32);  // the wider of both
}

// Frequencies times positions, whose sines rotate queries and keys, stay in FP32: libraries switch
// autocast off there.
TEST(PrecisionConversions, AnglesStayAsTheyAre) {
  const auto product_before = [](std::string_view after) {
    FlowMaker m;
    m.op("aten::bmm", "[[1,16,1],[1,1,64]]", R"(["float","float"])", "", "sgemm");
    m.op(after, "[[1,16,64]]", R"(["float"])");
    return m.step();
  };
  const auto product_type = [](const Step& step) {
    const Dataflow flow = dataflow(step);
    return autocast(step.trace, flow, DataType::fp16, 256).ops.front();
  };
  EXPECT_EQ(product_type(product_before("aten::cos")), DataType::fp32);
  EXPECT_EQ(product_type(product_before("aten::tanh")), DataType::fp16);
}

}  // namespace
}  // namespace tandem
