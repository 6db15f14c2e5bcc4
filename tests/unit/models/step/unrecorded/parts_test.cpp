// Parts of distributed tensors: a column of two of a layer's weight, as torch.distributed has it.
#include "models/step/unrecorded/parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/trace/links.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using Dims = std::vector<std::int64_t>;

class DistributedLayer : public ::testing::Test {
 protected:
  std::uint32_t op(std::string_view name, double begin, double us, const std::string& dims) {
    const std::uint32_t row = maker_.op(name, begin, us);
    maker_.operands(row, {dims, R"(["float", "float"])", "", ""});
    return row;
  }
  Dims dims(std::uint32_t row, std::size_t operand) const {
    return dims_of(operands_of(maker_.trace, row).tensors.shapes.at(operand));
  }
  void infer() {
    maker_.launch(400, 5, 1);
    maker_.kernel(410, 5, 1);
    infer_distributed_parts(maker_.trace, link_trace(maker_.trace));
  }

  test::TraceMaker maker_;
};

// y = x w^T with w of 64 x 32, of which this rank has 32 rows; x is whole on both. The gradient of
// the weight has the size of its part.
TEST_F(DistributedLayer, IsCalledWithWholesAndComputesWithParts) {
  const auto linear = op("aten::linear", 0, 100, "[[8, 32], [64, 32]]");
  const auto t = op("aten::t", 5, 20, "[[64, 32]]");
  op("PythonSubclass", 6, 18, "[[64, 32]]");
  op("aten::t", 8, 5, "[[32, 32]]");
  const auto mm = op("aten::mm", 30, 60, "[[8, 32], [32, 64]]");
  const auto handed = op("PythonSubclass", 31, 58, "[[8, 32], [32, 64]]");
  const auto inner = op("aten::mm", 40, 20, "[[8, 32], [32, 32]]");
  const auto stored = op("torch::autograd::AccumulateGrad", 200, 10, "[[64, 32]]");
  const auto other = op("torch::autograd::AccumulateGrad", 220, 10, "[[64]]");
  infer();
  EXPECT_EQ(dims(linear, 0), (Dims{8, 32}));
  EXPECT_EQ(dims(linear, 1), (Dims{32, 32}));
  EXPECT_EQ(dims(t, 0), (Dims{32, 32}));
  EXPECT_EQ(dims(mm, 1), (Dims{32, 32}));
  EXPECT_EQ(dims(handed, 1), (Dims{32, 32}));
  EXPECT_EQ(dims(inner, 1), (Dims{32, 32}));
  EXPECT_EQ(dims(stored, 0), (Dims{32, 32}));
  EXPECT_EQ(dims(other, 0), Dims{64});
}

// A compiled graph unpacks its parameters by itself; what their gradients are stored as tells.
TEST_F(DistributedLayer, ACompiledGraphTakesWhatGradientsAreStoredFor) {
  const auto graph = op("CompiledFunction", 0, 100, "[[8, 32], [64, 32], [64, 32]]");
  for (const double begin : {200.0, 300.0}) {
    op("torch::autograd::AccumulateGrad", begin, 50, "[[64, 32]]");
    op("detach", begin + 5, 30, "[[64, 32]]");
    op("PythonSubclass", begin + 6, 28, "[[64, 32]]");
    op("aten::detach", begin + 10, 5, "[[32, 32]]");
  }
  infer();
  EXPECT_EQ(dims(graph, 0), (Dims{8, 32}));
  EXPECT_EQ(dims(graph, 1), (Dims{32, 32}));
  EXPECT_EQ(dims(graph, 2), (Dims{32, 32}));
}

// An operation inside another one of its name computes with what that has been given.
TEST_F(DistributedLayer, OthersStayAsTheyAre) {
  const auto outer = op("aten::linear", 0, 100, "[[8, 32], [64, 32]]");
  op("aten::linear", 5, 50, "[[8, 32], [32, 32]]");
  infer();
  EXPECT_EQ(dims(outer, 1), (Dims{64, 32}));
}

}  // namespace
}  // namespace tandem
