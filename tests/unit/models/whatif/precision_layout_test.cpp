// Copies around attention that the backend of the tensor cores does not need.
#include <gtest/gtest.h>

#include "models/whatif/precision/layout.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;

constexpr const char* three = R"(["float","float","float"])";
constexpr const char* two = R"(["float","float"])";

/// Attention over 2 sequences of 4 in 3 heads of 8, [batch, queries, heads, width], and the copy of
/// its result to [queries, batch, heads, width]. The kernel's own layout has the strides 96, 24, 8,
/// 1.
Step attention_and_copy(const std::string& query_strides) {
  FlowMaker m;
  const std::string& q = query_strides;
  m.strides = std::string("[").append(q).append(",").append(q).append(",").append(q).append("]");
  m.op("aten::scaled_dot_product_attention>aten::_efficient_attention_forward",
       "[[2,4,3,8],[2,4,3,8],[2,4,3,8]]", three, "", "fmha_cutlassF");
  m.strides = "[[48,24,8,1],[24,96,8,1]]";
  m.op("aten::contiguous>aten::clone>aten::copy_", "[[4,2,3,8],[4,2,3,8]]", two);
  m.strides = "[[192],[192]]";
  m.op("aten::add", "[[192],[192]]", two);
  return m.step();
}

TEST(PrecisionLayout, CopyToTheLayoutOfTheQueryVanishes) {
  // Queries lie as [queries, batch, heads, width]: batch moves by 24, queries by 48.
  const Step step = attention_and_copy("[24,48,8,1]");
  const Dataflow flow = dataflow(step);
  EXPECT_EQ(mending_copies(step.trace, flow, 0), (std::vector<std::uint32_t>{1}));
}

TEST(PrecisionLayout, CopyToAnotherLayoutStays) {
  // [batch, heads, queries, width]: a result laid out like that is no [queries, batch, ...] either.
  const Step step = attention_and_copy("[96,8,32,1]");
  const Dataflow flow = dataflow(step);
  EXPECT_TRUE(mending_copies(step.trace, flow, 0).empty());
}

TEST(PrecisionLayout, QueriesInTheLayoutOfTheKernelChangeNothing) {
  const Step step = attention_and_copy("[96,24,8,1]");
  const Dataflow flow = dataflow(step);
  EXPECT_TRUE(mending_copies(step.trace, flow, 0).empty());
}

/// Gradients pass through copies until something else happens to them.
TEST(PrecisionLayout, CopiesOfGradientsVanishUpToTheNextOperation) {
  FlowMaker m;
  m.thread = 1, m.forward_thread = 1, m.sequence = 5;
  m.strides = "[[96,24,8,1],[24,48,8,1],[24,48,8,1],[24,48,8,1]]";
  m.op("autograd::engine::evaluate_function: Attention>aten::_efficient_attention_backward",
       "[[2,4,3,8],[2,4,3,8],[2,4,3,8],[2,4,3,8]]", R"(["float","float","float","float"])", "",
       "fmha_cutlassB");
  m.sequence = 4;
  m.strides = "[[96,32,8,1],[96,8,24,1]]";
  m.op("autograd::engine::evaluate_function: ViewBackward0>aten::clone>aten::copy_",
       "[[2,3,4,8],[2,3,4,8]]", two);
  m.sequence = 3;
  m.op("autograd::engine::evaluate_function: SelectBackward0>aten::fill_", "[[192],[]]", two);
  m.op("autograd::engine::evaluate_function: SelectBackward0>aten::copy_", "[[192],[192]]", two);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  EXPECT_EQ(mending_copies(step.trace, flow, 0), (std::vector<std::uint32_t>{1}));
}

}  // namespace
}  // namespace tandem
