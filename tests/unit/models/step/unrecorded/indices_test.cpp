// Indices of which a trace tells only how large the result is.
#include "models/step/unrecorded/indices.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/trace/links.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

/// Operands of an indexing operation in which the framework looks at its tensor by these sizes and
/// strides.
OpTensors completed(std::string_view indexed, const std::string& sizes,
                    const std::string& strides) {
  test::TraceMaker m;
  const std::uint32_t index = m.op("aten::index", 10, 20);
  m.operands(index, {indexed, R"(["float", ""])", "", R"(["", ""])"});
  const std::uint32_t view = m.op("aten::as_strided", 12, 2);
  const std::string concrete = R"(["", ")" + sizes + R"(", ")" + strides + R"(", ""])";
  m.operands(view, {"[[2535, 3], [], [], []]", R"(["float", "ScalarList", "ScalarList", ""])", "",
                    concrete});
  m.launch(15, 2, 1);
  m.kernel(20, 5, 1);
  infer_unrecorded_indices(m.trace, link_trace(m.trace));
  return operands_of(m.trace, index).tensors;
}

// Swin's table of 2535 distances of 3 heads, looked up for 392 x 392 pairs.
TEST(UnrecordedIndices, StridesOfZeroStandForWhatIsIndexed) {
  const OpTensors tensors = completed("[[2535, 3], []]", "[153664, 3]", "[0, 1]");
  ASSERT_EQ(tensors.shapes.size(), 2U);
  EXPECT_EQ(tensors.arguments[1], 1);
  EXPECT_EQ(dims_of(tensors.shapes[1]), (std::vector<std::int64_t>{153664}));
  EXPECT_EQ(tensors.shapes[1].type, DataType::int64);
}

// Rows and columns of a square of 7 x 7, five at a time: two indices in place of two dimensions.
TEST(UnrecordedIndices, EachDimensionThatIsGoneHasAnIndex) {
  const OpTensors tensors = completed("[[7, 7, 16], []]", "[5, 16]", "[0, 1]");
  ASSERT_EQ(tensors.shapes.size(), 3U);
  EXPECT_EQ(dims_of(tensors.shapes[2]), (std::vector<std::int64_t>{5}));
}

TEST(UnrecordedIndices, OtherViewsTellNothing) {
  EXPECT_EQ(completed("[[2535, 3], []]", "[153664, 3]", "[3, 1]").shapes.size(), 1U);
  EXPECT_EQ(completed("[[2535, 3], []]", "[153664]", "[0, 1]").shapes.size(), 1U);
  EXPECT_EQ(completed("[[2535, 3], []]", "[9, 2535, 3]", "[0, 3, 1]").shapes.size(), 1U);
}

}  // namespace
}  // namespace tandem
