// Another batch of a step whose kernels run on the CPU: straight lines, node by node.
#include <gtest/gtest.h>

#include "models/whatif/batch/nodes.h"
#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

Step step_of(double compute_us) {
  const Trace trace = test::import_text(test::executor_file(test::asynchronous_events(compute_us)));
  const Links links = link_trace(trace);
  const MeasuredPlan measured = test::executor_plan(trace);
  return cut_step(trace, links, step_plan(trace, measured, test::executor_host(), Profiler::keep));
}

Duration first_node(const Plan& plan) {
  for (const HostItem& item : plan.items) {
    if (item.kind == ItemKind::node) return item.call;
  }
  return {};
}

TEST(NodesBatch, LiesOnTheLineThroughBothBases) {
  const Step small = step_of(62);   // 2 to dequeue and 60 to compute
  const Step large = step_of(182);  // 180
  EXPECT_EQ(first_node(nodes_at_batch({small, 8}, {large, 24}, 16)), from_us(122));  // 2 + 120
  EXPECT_EQ(first_node(nodes_at_batch({small, 8}, {large, 24}, 8)), from_us(62));
  EXPECT_EQ(first_node(nodes_at_batch({large, 24}, {small, 8}, 32)), from_us(242));  // 2 + 240
}

TEST(NodesBatch, IsNeverShorterThanHalfOfWhatWasMeasured) {
  const Step small = step_of(62);
  const Step large = step_of(302);  // the line meets zero at a batch of 4
  EXPECT_EQ(first_node(nodes_at_batch({small, 8}, {large, 24}, 1)), from_us(32));  // 2 + 60 / 2
}

TEST(NodesBatch, RefusesEqualBatchesAndOtherModels) {
  const Step step = step_of(62);
  EXPECT_THROW(nodes_at_batch({step, 8}, {step, 8}, 16), InputError);
  Step other = step;
  for (HostItem& item : other.plan.items) {
    if (item.kind == ItemKind::node) item.kind = ItemKind::call;
  }
  EXPECT_THROW(nodes_at_batch({step, 8}, {other, 16}, 16), InputError);
}

}  // namespace
}  // namespace tandem
