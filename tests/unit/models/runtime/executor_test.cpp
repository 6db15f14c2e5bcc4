// An eager runtime with an executor: measured, synchronous, asynchronous. Times in microseconds.
#include <gtest/gtest.h>

#include "models/runtime/executor_modes.h"
#include "models/runtime/step_plan.h"
#include "sim/engine/engine.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

using test::asynchronous_events;
using test::at_us;
using test::executor_file;
using test::executor_host;
using test::executor_plan;
using test::import_text;

// Items: step begin; wait, enqueue and node of Conv2D; those of Relu; step end.
enum ItemIndex : std::size_t { begin, wait0, enqueue0, node0, wait1, enqueue1, node1, end };

TEST(Executor, MeasuredTimesAreGapsWakingAndTheReturnOfWaits) {
  const Trace trace = import_text(executor_file(asynchronous_events()));
  const MeasuredPlan measured = executor_plan(trace);
  EXPECT_TRUE(measured.executor);
  const auto& items = measured.plan.items;
  ASSERT_EQ(items.size(), 8u);
  EXPECT_EQ(items[enqueue0].gap, from_us(10));   // to the begin of the Python binding
  EXPECT_EQ(items[enqueue0].call, from_us(15));  // 25 - 10
  EXPECT_EQ(items[node0].after, enqueue0);
  EXPECT_EQ(items[node0].wake, from_us(15));  // 40 - 25
  EXPECT_EQ(items[node0].submit, from_us(2));
  EXPECT_EQ(items[wait1].after, node0);
  EXPECT_EQ(items[wait1].gap, from_us(5));      // 30 - 25
  EXPECT_EQ(items[wait1].wake, from_us(20));    // 120 - 100
  EXPECT_EQ(items[enqueue1].gap, from_us(30));  // 150 - 120
  EXPECT_EQ(items[end].wake, from_us(20));      // 200 - 180
}

TEST(Executor, ReplayMeetsTheTrace) {
  const Trace trace = import_text(executor_file(asynchronous_events()));
  const MeasuredPlan measured = executor_plan(trace);
  const Timeline t = simulate(measured.plan);
  EXPECT_EQ(t.item_begin[enqueue0], at_us(10));
  EXPECT_EQ(t.item_begin[node0], at_us(40));
  EXPECT_EQ(t.item_begin[wait1], at_us(120));
  EXPECT_EQ(t.item_begin[enqueue1], at_us(150));
  EXPECT_EQ(t.item_begin[node1], at_us(175));
  EXPECT_EQ(t.end, at_us(200));
}

TEST(Executor, SynchronousStepsRunEachNodeInTheProgram) {
  const Trace trace = import_text(executor_file(asynchronous_events()));
  Plan plan = executor_plan(trace).plan;
  ASSERT_TRUE(has_executor(plan));
  run_nodes_inline(plan);
  EXPECT_FALSE(has_executor(plan));
  const Timeline t = simulate(plan);
  EXPECT_EQ(t.item_begin[node0], at_us(25));      // at the end of its enqueue
  EXPECT_EQ(t.item_begin[enqueue1], at_us(120));  // 25 + 60, 5 to the wait, 30 behind it
  EXPECT_EQ(t.item_begin[node1], at_us(130));
  EXPECT_EQ(t.end, at_us(155));  // 130 + 5 + 20
}

TEST(Executor, AsynchronousStepsWakeAnIdleExecutorAndWaitForValuesThatAreRead) {
  const Trace trace = import_text(executor_file(asynchronous_events()));
  Plan plan = executor_plan(trace).plan;
  run_nodes_inline(plan);
  run_nodes_on_executor(trace, executor_host().executor, plan);
  EXPECT_TRUE(has_executor(plan));
  const Timeline t = simulate(plan);
  EXPECT_EQ(t.item_begin[node0], at_us(40));      // 25 + 15
  EXPECT_EQ(t.item_begin[enqueue1], at_us(150));  // 100 + 20 to return from the wait, 30 behind it
  EXPECT_EQ(t.item_begin[node1], at_us(175));
  EXPECT_EQ(t.end, at_us(220));  // 180 + 20 + the program's own 20
}

TEST(Executor, ReadsAreAsFrequentAsThePairSays) {
  ExecutorModel model = executor_host().executor;
  EXPECT_EQ(find_read_back(model, "Conv2D", "Relu")->share, 1.0);
  EXPECT_EQ(find_read_back(model, "Conv2D", "Mean"), nullptr);
  EXPECT_EQ(find_read_back(model, "Relu", "Relu"), nullptr);
  const Trace trace = import_text(executor_file(asynchronous_events()));
  Plan plan = executor_plan(trace).plan;
  run_nodes_inline(plan);
  model.read_back.front().share = 0.4;  // the first pair of a step does not add up to a read
  run_nodes_on_executor(trace, model, plan);
  EXPECT_EQ(plan.items[wait1].after, no_index);
  const Timeline t = simulate(plan);
  EXPECT_EQ(t.item_begin[enqueue1], at_us(60));  // 25 + 5 + 30: beside the first node
  EXPECT_EQ(t.item_begin[node1], at_us(101));    // 40 + 60 and 1 to take the next one
}

TEST(Executor, TheProfilerCostsTheProgramAndNotTheExecutor) {
  const Trace trace = import_text(executor_file(asynchronous_events()));
  const MeasuredPlan measured = executor_plan(trace);
  HostModel host = executor_host();
  host.executor.profiled_gap = 2;
  const StepPlan step = step_plan(trace, measured, host, Profiler::remove);
  EXPECT_EQ(step.plan.items[enqueue0].gap, from_us(5));     // 10 / 2
  EXPECT_EQ(step.plan.items[enqueue0].call, from_us(7.5));  // 15 / 2
  EXPECT_EQ(step.plan.items[node0].call, from_us(60));      // what it computes
}

TEST(Executor, ATraceWithoutStepsIsOneStep) {
  const std::string events = asynchronous_events();
  const Trace trace = import_text(executor_file(events.substr(events.find("},{") + 2)));
  ASSERT_EQ(trace.annotations.size(), 0u);
  const MeasuredPlan measured = executor_plan(trace);
  ASSERT_EQ(measured.steps.size(), 1u);
  EXPECT_EQ(simulate(measured.plan).end, at_us(180 - 10));  // from the first call to the last node
}

TEST(Executor, TheCommittedModelLoads) {
  const ExecutorModel model =
      load_executor_model(source_path("configs/hosts/executor/tensorflow.json"));
  EXPECT_GT(model.wake_us, model.pop_us);
  ASSERT_NE(find_read_back(model, "Conv2D", "ReadVariableOp"), nullptr);
  std::size_t checked = 0;
  for (const ReadBack& row : model.read_back) {
    EXPECT_GT(row.share, 0) << row.op;
    EXPECT_LE(row.share, 1) << row.op;
    EXPECT_EQ(find_read_back(model, row.op, row.next), &row);
    ++checked;
  }
  EXPECT_GT(checked, 20u);
}

}  // namespace
}  // namespace tandem
