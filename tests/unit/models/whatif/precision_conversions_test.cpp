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

}  // namespace
}  // namespace tandem
