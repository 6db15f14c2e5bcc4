// Phases and queue of the step of executor_for_tests.h, 200 us long.
#include "sim/metrics/runtime_metrics.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

RuntimeMetrics metrics_of(const Trace& trace, const Plan& plan) {
  const auto metrics = runtime_metrics(trace, plan, simulate(plan));
  EXPECT_TRUE(metrics.has_value());
  return metrics.value_or(RuntimeMetrics{});
}

TEST(RuntimeMetrics, PhasesAndQueueOfAnAsynchronousStep) {
  const Trace trace = test::import_text(test::executor_file(test::asynchronous_events()));
  const Plan plan = test::executor_plan(trace).plan;
  const RuntimeMetrics m = metrics_of(trace, plan);
  EXPECT_DOUBLE_EQ(m.gpu_kernel_share, 0);
  EXPECT_DOUBLE_EQ(m.cpu_kernel_share, 61.0 / 200);  // 60 - 2 and 5 - 2
  EXPECT_DOUBLE_EQ(m.dequeue_share, 4.0 / 200);
  EXPECT_NEAR(m.waiting_share, 135.0 / 200, 1e-12);
  EXPECT_DOUBLE_EQ(m.queue_busy_us, 30);  // 25 to 40, 160 to 175
  EXPECT_DOUBLE_EQ(m.queue_empty_share, 0.85);
  EXPECT_DOUBLE_EQ(m.queue_mean_depth, 0.15);
  EXPECT_DOUBLE_EQ(m.queue_max_depth, 1);
  EXPECT_DOUBLE_EQ(m.enqueue_mean_us, 12.5);  // 15 and 10
  EXPECT_DOUBLE_EQ(m.dequeue_mean_us, 2);
  EXPECT_DOUBLE_EQ(m.cpu_kernel_mean_us, 30.5);
  EXPECT_DOUBLE_EQ(m.waiting_while_loaded_share, 1);  // nothing runs while a node waits here
  EXPECT_DOUBLE_EQ(m.nodes, 2);
}

TEST(RuntimeMetrics, SharesOfThePhasesSumToOne) {
  std::size_t checked = 0;
  for (const double us : {1.0, 60.0, 5000.0}) {
    const Trace trace = test::import_text(test::executor_file(test::asynchronous_events(us)));
    const RuntimeMetrics m = metrics_of(trace, test::executor_plan(trace).plan);
    EXPECT_NEAR(
        m.gpu_kernel_share + m.cpu_kernel_share + m.dequeue_share + m.copy_share + m.waiting_share,
        1, 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 3u);
}

TEST(RuntimeMetrics, StepsWithoutNodesHaveNone) {
  Plan empty;
  EXPECT_FALSE(runtime_metrics(Trace{}, empty, simulate(empty)).has_value());
}

}  // namespace
}  // namespace tandem
