// One step out of several, and its steady state. Sums in microseconds.
#include "models/runtime/step_plan.h"

#include <gtest/gtest.h>

#include "sim/core/bounds/step_size.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;
using test::round_host;
using test::TraceMaker;

/// Call 0 launches kernel 0 ("gemm"); call 1 is another runtime call; kernel 1 is "other".
Trace names() {
  TraceMaker m;
  m.launch(0, 1, 1);
  m.call("cudaEventRecord", 2, 1);
  m.kernel(5, 1, 1);
  m.kernel(7, 1, -1, 0, "other");
  return m.trace;
}

/// Steps of: begin, launch, launch, end. `gaps` are those of the first launch.
MeasuredPlan steps_with_gaps(const std::vector<double>& gaps) {
  PlanBuilder b;
  MeasuredPlan out;
  for (std::size_t k = 0; k < gaps.size(); ++k) {
    const std::uint32_t first = b.marker(ItemKind::step_begin);
    b.plan.items[first].gap = from_us(50);
    b.launch(gaps[k], 6 + static_cast<double>(k), {.us = 10 + 2 * static_cast<double>(k)});
    b.launch(8, 6, {.us = 20});
    b.marker(ItemKind::step_end);
    for (std::uint32_t i = first + 1; i < first + 3; ++i) b.plan.items[i].source = 0;
    out.steps.push_back({"ProfilerStep#" + std::to_string(k), first, first + 4});
  }
  out.plan = b.plan;
  return out;
}

TEST(StepPlan, KeepTakesMeansOverAlignedSteps) {
  const auto step = step_plan(names(), steps_with_gaps({30, 10, 20}), round_host(), Profiler::keep);
  EXPECT_EQ(step.steps_used, 3u);
  EXPECT_EQ(step.name, "ProfilerStep#2");
  ASSERT_EQ(step.plan.items.size(), 4u);
  ASSERT_EQ(step.plan.works.size(), 2u);
  EXPECT_EQ(step.plan.items[0].gap, from_us(50));       // the profiler's own time between steps
  EXPECT_EQ(step.plan.items[1].gap, from_us(20));       // (30 + 10 + 20) / 3
  EXPECT_EQ(step.plan.items[1].call, from_us(7));       // (6 + 7 + 8) / 3
  EXPECT_EQ(step.plan.works[0].duration, from_us(12));  // (10 + 12 + 14) / 3
  EXPECT_EQ(step.plan.works[1].item, 2u);
  EXPECT_TRUE(step.losses.all().empty());
}

TEST(StepPlan, RemoveTakesTheScaledMinimumGapAndTheHostsCalls) {
  const auto step =
      step_plan(names(), steps_with_gaps({30, 10, 20}), round_host(), Profiler::remove);
  EXPECT_EQ(step.plan.items[0].gap, Duration{});
  EXPECT_EQ(step.plan.items[1].gap, from_us(5));  // 0.5 * min(30, 10, 20)
  EXPECT_EQ(step.plan.items[1].call, from_us(4));
  EXPECT_EQ(step.plan.items[1].submit, from_us(4));
  EXPECT_EQ(step.plan.items[2].gap, from_us(4));        // 0.5 * 8
  EXPECT_EQ(step.plan.works[0].duration, from_us(12));  // kernels are not the host's
}

// What the profiler does between steps goes; the wait for the next input does not.
TEST(StepPlan, RemoveKeepsTheWaitForInputBetweenSteps) {
  MeasuredPlan measured = steps_with_gaps({30, 10, 20});
  for (const PlanStep& step : measured.steps) {
    measured.plan.items[step.first_item].input = from_us(40);
  }
  const Plan step = step_plan(names(), measured, round_host(), Profiler::remove).plan;
  EXPECT_EQ(step.items[0].gap, from_us(40));
  EXPECT_EQ(step.items[0].input, from_us(40));
}

TEST(StepPlan, RemoveScalesASingleStepByItsOwnFactor) {
  const auto step = step_plan(names(), steps_with_gaps({30}), round_host(), Profiler::remove);
  EXPECT_EQ(step.steps_used, 1u);
  EXPECT_EQ(step.plan.items[1].gap, from_us(7.5));  // 0.25 * 30
}

TEST(StepPlan, FollowsTheLargestGroupOfEqualSteps) {
  MeasuredPlan measured = steps_with_gaps({30, 10, 20});
  measured.plan.works[measured.plan.items[9].first_work].source = 1;  // last step: another kernel
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.steps_used, 2u);
  EXPECT_EQ(step.name, "ProfilerStep#1");
  EXPECT_EQ(step.plan.items[1].gap, from_us(20));  // (30 + 10) / 2
  EXPECT_EQ(step.losses.count("steps_not_aligned"), 1);
  EXPECT_FALSE(step.losses.any(Severity::warning));
}

TEST(StepPlan, WarnsWhereHalfOfTheStepsDoSomethingElse) {
  MeasuredPlan measured = steps_with_gaps({30, 10, 20, 40});
  for (const std::uint32_t step : {1U, 3U}) {
    const std::uint32_t launch = measured.steps[step].first_item + 1;
    measured.plan.works[measured.plan.items[launch].first_work].source = 1;
  }
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.name, "ProfilerStep#3");  // of equally large groups the last
  EXPECT_EQ(step.steps_used, 2u);
  EXPECT_EQ(step.losses.count("steps_not_aligned"), 2);
  EXPECT_TRUE(step.losses.any(Severity::warning));
}

TEST(StepPlan, SaysWhichStepsItFollows) {
  MeasuredPlan measured = steps_with_gaps({30, 10, 20});
  measured.plan.works[measured.plan.items[5].first_work].source = 1;  // the second step
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.followed, (std::vector<std::size_t>{0, 2}));
}

/// The launch of the last of `steps` lacks its kernel, as where a buffer was full.
void drop_last_kernel(MeasuredPlan& measured) {
  const PlanStep& last = measured.steps.back();
  HostItem& item = measured.plan.items[last.first_item + 2];
  item.kind = ItemKind::call;
  item.source = 0;
  item.work_count = 0;
}

TEST(StepPlan, OfTwoDifferentStepsTakesTheOneWithAllItsKernels) {
  MeasuredPlan measured = steps_with_gaps({30, 10});
  drop_last_kernel(measured);
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.name, "ProfilerStep#0");
  EXPECT_EQ(step.plan.works.size(), 2u);
  EXPECT_TRUE(step.losses.any(Severity::warning));
}

// A call that is no launch: nothing is missing, the other step only does more.
TEST(StepPlan, OfTwoDifferentStepsTakesTheOneWithMoreDeviceWork) {
  MeasuredPlan measured = steps_with_gaps({30, 10});
  drop_last_kernel(measured);
  measured.plan.items[measured.steps.back().first_item + 2].source = 1;
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.name, "ProfilerStep#0");
}

TEST(StepPlan, WarnsOfStepsOfAnotherKind) {
  // Three steps of two kernels and one of none but a call's: half as many are another kind only if
  // fewer than that.
  MeasuredPlan measured = steps_with_gaps({30, 10, 20, 40});
  const std::uint32_t first = measured.steps.back().first_item;
  for (const std::uint32_t i : {first + 1, first + 2}) measured.plan.items[i].work_count = 0;
  measured.plan.items[first + 1].kind = ItemKind::node;  // it does something
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.steps_used, 3u);
  EXPECT_EQ(step.losses.count("steps_not_aligned"), 1);
  EXPECT_TRUE(step.losses.any(Severity::warning));
}

TEST(StepPlan, OfAllDifferentStepsTakesTheLast) {
  MeasuredPlan measured = steps_with_gaps({30, 10});
  measured.plan.items[1].source = 1;  // another call
  const auto step = step_plan(names(), measured, round_host(), Profiler::keep);
  EXPECT_EQ(step.steps_used, 1u);
  EXPECT_EQ(step.plan.items[1].gap, from_us(10));
}

TEST(StepPlan, RefusesAStepThatNobodyHasMemoryFor) {
  PlanBuilder b;
  MeasuredPlan out;
  const std::uint32_t first = b.marker(ItemKind::step_begin);
  b.launch(1, 1, {.us = 1});
  const HostItem launch = b.plan.items.back();
  const DeviceWork work = b.plan.works.back();
  b.plan.items.reserve(limits::step_works + 4);
  b.plan.works.reserve(limits::step_works + 4);
  while (b.plan.works.size() <= limits::step_works) {
    b.plan.items.push_back(launch);
    b.plan.items.back().first_work = static_cast<std::uint32_t>(b.plan.works.size());
    b.plan.works.push_back(work);
  }
  const std::uint32_t end = b.marker(ItemKind::step_end) + 1;
  out.plan = std::move(b.plan);
  out.steps.push_back({"ProfilerStep#7", first, end});
  try {
    step_plan(names(), out, round_host(), Profiler::keep);
    FAIL() << "a step of so many launches is taken";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("ProfilerStep#7: found 800001 kernels and copies"),
              std::string::npos)
        << error.what();
  }
}

TEST(StepPlan, IgnoresStepsWithoutEndOrWork) {
  MeasuredPlan measured = steps_with_gaps({30, 10});
  measured.steps[1].end_item = no_index;
  EXPECT_EQ(step_plan(names(), measured, round_host(), Profiler::keep).name, "ProfilerStep#0");
  measured.steps[0].end_item = measured.steps[0].first_item + 1;
  EXPECT_THROW(step_plan(names(), measured, round_host(), Profiler::keep), InputError);
}

TEST(StepPlan, CutsReferencesToOtherSteps) {
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 10});
  const std::uint32_t first = b.marker(ItemKind::step_begin);
  b.plan.items[first].after = 0;  // into the step before
  b.launch(5, 1, {.us = 10, .stream = 1, .edges = {{0, from_us(1)}}});
  b.launch(5, 1, {.us = 10, .stream = 0, .edges = {{1, from_us(1)}}});
  b.sync(5, 1, 5, /*work=*/0);
  b.sync(5, 1, 5, /*work=*/2);
  const std::uint32_t back = b.call(3, 1, 1);
  b.plan.items[back].after = first + 1;
  b.marker(ItemKind::step_end);
  MeasuredPlan measured;
  measured.plan = b.plan;
  measured.steps = {{"s", first, static_cast<std::uint32_t>(b.plan.items.size())}};
  const Plan step = step_plan(names(), measured, round_host(), Profiler::keep).plan;
  EXPECT_EQ(step.items[0].after, no_index);
  EXPECT_EQ(step.items[5].after, 1u);
  ASSERT_EQ(step.works.size(), 2u);
  EXPECT_EQ(step.works[0].edge_count, 0u);
  ASSERT_EQ(step.works[1].edge_count, 1u);
  EXPECT_EQ(step.edges[step.works[1].first_edge].work, 0u);
  EXPECT_EQ(step.items[3].wait, WaitFor::nothing);  // its work belongs to the step before
  EXPECT_EQ(step.items[4].wait, WaitFor::work);
  EXPECT_EQ(step.items[4].wait_work, 1u);
}

TEST(StepPlan, RemoveKeepsWhatAHandOffCosts) {
  PlanBuilder b(2);
  const std::uint32_t first = b.marker(ItemKind::step_begin);
  b.launch(10, 6, {.us = 10}, 0);
  const std::uint32_t back = b.launch(300, 6, {.us = 10}, 1);
  b.plan.items[back].after = back - 1;
  b.marker(ItemKind::step_end);
  MeasuredPlan measured;
  measured.plan = b.plan;
  measured.steps = {{"s", first, 4}};
  const Plan step = step_plan(names(), measured, round_host(), Profiler::remove).plan;
  EXPECT_EQ(step.items[back].gap, from_us(300));
}

TEST(StepPlan, RemoveTakesTheProfilerOutOfGraphs) {
  PlanBuilder b;
  b.marker(ItemKind::step_begin);
  b.graph(10, 90, {{.us = 10, .gap_us = 5}, {.us = 10, .gap_us = 0.5}, {.us = 10, .gap_us = 0.5}});
  b.marker(ItemKind::step_end);
  MeasuredPlan measured;
  measured.plan = b.plan;
  measured.steps = {{"s", 0, 3}};
  Trace trace = names();
  trace.geometries = {{{1000, 1, 1}, {128, 1, 1}}};  // more threads than round_host's 100,000
  for (GeometryId& geometry : trace.activities.geometry) geometry = GeometryId{std::size_t{0}};
  const Plan step = step_plan(trace, measured, round_host(), Profiler::remove).plan;
  EXPECT_EQ(step.items[1].call, from_us(4));    // 2.5 + 3 * 0.5
  EXPECT_EQ(step.works[0].gap, from_us(5));     // between graphs: as traced
  EXPECT_EQ(step.works[1].gap, from_us(0.25));  // 0.5 - 0.25
  EXPECT_EQ(step.works[2].gap, from_us(0.25));
}

TEST(Repeat, RenumbersEveryReference) {
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 10}, 0);
  b.launch(0, 1, {.us = 10, .stream = 1, .edges = {{0, from_us(1)}}}, 1);
  b.plan.items[1].after = 0;
  b.sync(0, 1, 5, /*work=*/1);
  const Plan r = repeat(b.plan, 3, round_host());
  ASSERT_EQ(r.items.size(), 10u);  // 3 * 3 and the final synchronisation
  ASSERT_EQ(r.works.size(), 6u);
  EXPECT_EQ(r.items[7].after, 6u);
  EXPECT_EQ(r.items[8].wait_work, 5u);
  EXPECT_EQ(r.items[7].first_work, 5u);
  EXPECT_EQ(r.works[5].item, 7u);
  EXPECT_EQ(r.edges[r.works[5].first_edge].work, 4u);
  EXPECT_EQ(r.items[9].wait, WaitFor::all_work);
  EXPECT_EQ(r.items[9].return_delay, from_us(5));
  EXPECT_EQ(r.items[9].thread, 0);
}

// The first step has none before it.
TEST(Repeat, EdgesToTheStepBefore) {
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 10, .edges = {{1, from_us(1)}}}, 0);
  b.launch(0, 1, {.us = 10, .stream = 1}, 1);
  b.plan.edges.front().previous_step = true;
  const Plan r = repeat(b.plan, 3, round_host());
  ASSERT_EQ(r.edges.size(), 2u);
  EXPECT_EQ(r.works[0].edge_count, 0u);
  EXPECT_EQ(r.edges[r.works[2].first_edge].work, 1u);
  EXPECT_EQ(r.edges[r.works[4].first_edge].work, 3u);
  EXPECT_FALSE(r.edges[0].previous_step);
}

Duration period_of(const Plan& step, std::size_t count) {
  return steady_period(step, simulate(repeat(step, count, round_host())), count);
}

TEST(SteadyPeriod, OfAHostBoundStepIsItsGapsAndCalls) {
  PlanBuilder b;
  for (int i = 0; i < 7; ++i) b.launch(10, 5, {.us = 3});
  for (const std::size_t count : {2, 4, 6, 20}) EXPECT_EQ(period_of(b.plan, count), from_us(105));
}

TEST(SteadyPeriod, OfAGpuBoundStepIsItsDurationsAndGaps) {
  PlanBuilder b;
  for (int i = 0; i < 7; ++i) b.launch(1, 2, {.us = 100, .gap_us = 1.5});
  for (const std::size_t count : {2, 4, 6, 20}) {
    EXPECT_EQ(period_of(b.plan, count), from_us(710.5));  // 7 * (100 + 1.5)
  }
}

TEST(SteadyPeriod, DoesNotDependOnTheQueueWhereTheGpuDecides) {
  PlanBuilder b;
  for (int i = 0; i < 7; ++i) b.launch(1, 2, {.us = 100, .gap_us = 1.5});
  for (const std::uint32_t depth : {4U, 10U, 1000U}) {
    b.plan.queue_depth = depth;
    EXPECT_EQ(period_of(b.plan, 6), from_us(710.5)) << depth;
  }
}

TEST(SteadyPeriod, OfABlockingStepIsTheWholeRoundTrip) {
  PlanBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.launch(6, 4, {.us = 10});
    b.plan.items.back().wait = WaitFor::own_work;
    b.plan.items.back().return_delay = from_us(3);
  }
  EXPECT_EQ(period_of(b.plan, 6), from_us(50));  // 2 * (6 + 4 + 2 + 10 + 3)
}

TEST(SteadyPeriod, WithASyncOnceAStepIsHostPlusDrain) {
  PlanBuilder b;
  b.launch(10, 5, {.us = 100});
  b.sync(0, 2, 5, no_index);
  b.call(20, 5);
  // 10 + 5, latency 2, 100, return 5, then 20 + 5: the device idles meanwhile.
  EXPECT_EQ(period_of(b.plan, 6), from_us(147));
}

}  // namespace
}  // namespace tandem
