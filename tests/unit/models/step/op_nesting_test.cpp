#include "models/step/op_nesting.h"

#include <gtest/gtest.h>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

TEST(OpNesting, NestsByTimeOnTheThreadOfTheCall) {
  TraceMaker m;
  const auto outer = m.op("outer", 0, 100);
  const auto inner = m.op("inner", 10, 40);
  m.op("other thread", 0, 1000, 1);
  const auto before = m.call("cudaLaunchKernel", 5, 1);
  const auto within = m.call("cudaLaunchKernel", 20, 1);
  const auto at_end = m.call("cudaLaunchKernel", 50, 1);  // inner has just ended
  const auto after = m.call("cudaLaunchKernel", 100, 1);
  const auto elsewhere = m.call("cudaLaunchKernel", 20, 1, -1, 2);
  m.kernel(200, 1, -1);  // a trace without device work is none
  const OpNesting ops = nest_ops(m.trace, link_trace(m.trace));
  EXPECT_EQ(ops.of_call[before], outer);
  EXPECT_EQ(ops.of_call[within], inner);
  EXPECT_EQ(ops.parent[inner], outer);
  EXPECT_EQ(ops.of_call[at_end], outer);
  EXPECT_EQ(ops.of_call[after], no_row);
  EXPECT_EQ(ops.parent[outer], no_row);
  EXPECT_EQ(ops.of_call[elsewhere], no_row);
}

TEST(OpNesting, OfTwoThatBeginTogetherTheLongerIsTheParent) {
  TraceMaker m;
  const auto child = m.op("child", 0, 10);
  const auto parent = m.op("parent", 0, 50);
  const auto call = m.call("cudaLaunchKernel", 0, 1);
  m.kernel(200, 1, -1);  // a trace without device work is none
  const OpNesting ops = nest_ops(m.trace, link_trace(m.trace));
  EXPECT_EQ(ops.of_call[call], child);
  EXPECT_EQ(ops.parent[child], parent);
}

TEST(OpNesting, DoesNotNeedRowsInOrderOfTime) {
  TraceMaker m;
  const auto late = m.call("cudaLaunchKernel", 120, 1);
  const auto early = m.call("cudaLaunchKernel", 20, 1);
  const auto second = m.op("second", 100, 50);
  const auto first = m.op("first", 0, 50);
  m.kernel(200, 1, -1);  // a trace without device work is none
  const OpNesting ops = nest_ops(m.trace, link_trace(m.trace));
  EXPECT_EQ(ops.of_call[late], second);
  EXPECT_EQ(ops.of_call[early], first);
}

}  // namespace
}  // namespace tandem
