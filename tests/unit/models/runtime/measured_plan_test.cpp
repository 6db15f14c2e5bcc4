// Trace -> Plan. Times in microseconds.
#include "models/runtime/measured_plan.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::round_host;
using test::TraceMaker;

MeasuredPlan measured_plan_of(const TraceMaker& m) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  return measured_plan(m.trace, links, host, DeviceTiming(m.trace, links, host));
}

TEST(MeasuredPlan, TurnsCallsIntoItemsWithTheGapsBetweenThem) {
  TraceMaker m;
  m.step(3, 0, 100);
  m.launch(10, 5, 1);
  m.call("cudaGetDevice", 16, 1);  // costs host time, is no item
  m.call("cudaEventRecord", 20, 2);
  m.launch(30, 5, 2);
  m.kernel(17, 10, 1);
  m.kernel(37, 10, 2);
  const MeasuredPlan p = measured_plan_of(m);
  ASSERT_EQ(p.plan.items.size(), 5u);
  const auto& items = p.plan.items;
  EXPECT_EQ(items[0].kind, ItemKind::step_begin);
  EXPECT_EQ(items[1].kind, ItemKind::launch);
  EXPECT_EQ(items[1].gap, from_us(10));
  EXPECT_EQ(items[1].call, from_us(5));
  EXPECT_EQ(items[1].source, 0u);
  EXPECT_EQ(items[2].kind, ItemKind::call);
  EXPECT_EQ(items[2].gap, from_us(5));  // the call in between is part of it
  EXPECT_EQ(items[3].gap, from_us(8));
  EXPECT_EQ(items[4].kind, ItemKind::step_end);
  EXPECT_EQ(items[4].gap, from_us(65));
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_EQ(p.steps[0].name, "ProfilerStep#3");
  EXPECT_EQ(p.steps[0].end_item, 5u);
  EXPECT_EQ(p.plan.queue_depth, 1000u);
}

TEST(MeasuredPlan, ReproducesASimpleTrace) {
  TraceMaker m;
  m.step(1, 0, 60);
  m.step(2, 60, 60);
  for (int i = 0; i < 4; ++i) {
    m.launch(10 + 30 * i, 5, i);
    m.kernel(17 + 30 * i, 15, i);
  }
  const MeasuredPlan p = measured_plan_of(m);
  const Timeline t = simulate(p.plan);
  for (std::uint32_t w = 0; w < 4; ++w) {
    EXPECT_EQ(t.work_begin[w], m.trace.activities.begin[p.plan.works[w].source]);
  }
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_EQ(t.item_end[p.steps[1].first_item], at_us(60));
  EXPECT_EQ(t.item_end[p.steps[1].end_item - 1], at_us(120));
}

TEST(MeasuredPlan, TakesTheTimeInAFullQueueOffTheCall) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(10, 100, 2);
  m.overhead("Command Buffer Full", 12, 95);
  m.kernel(7, 100, 1);
  m.kernel(112, 10, 2);
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.plan.items[2].call, from_us(5));
}

TEST(MeasuredPlan, LaunchesOfABlockingRunWaitForTheirKernel) {
  TraceMaker m;
  for (int i = 0; i < 3; ++i) {
    m.launch(100 * i, 40, i);      // returns 3 after the kernel
    m.kernel(100 * i + 6, 31, i);  // submitted at 4: 6 less the latency of 2
  }
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_TRUE(p.blocking_launches);
  for (const std::uint32_t i : {1U, 2U, 3U}) {
    EXPECT_EQ(p.plan.items[i].wait, WaitFor::own_work);
    EXPECT_EQ(p.plan.items[i].submit, from_us(4));
    EXPECT_EQ(p.plan.items[i].call, from_us(4));
    EXPECT_EQ(p.plan.items[i].return_delay, from_us(3));
  }
}

TEST(MeasuredPlan, AKernelBeforeItsLaunchSaysNothingOfWaiting) {
  // By the clock of the device both end long before they are launched: nobody waited for them.
  TraceMaker m;
  m.launch(1000, 5, 1);
  m.launch(1100, 5, 2);
  m.kernel(7, 50, 1);
  m.kernel(107, 50, 2);
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_FALSE(p.blocking_launches);
  for (const std::uint32_t i : {1U, 2U}) {
    EXPECT_EQ(p.plan.items[i].wait, WaitFor::nothing);
    EXPECT_EQ(p.plan.items[i].submit, from_us(5));
    EXPECT_EQ(p.plan.items[i].return_delay, Duration{});
  }
}

TEST(MeasuredPlan, ASlowLaunchIsNoWait) {
  // One of four calls outlives its kernel: it was slow, or the kernel short. Taken for a wait, it
  // would drain the queue of a step in which the host runs ahead.
  TraceMaker m;
  for (int i = 0; i < 4; ++i) {
    m.launch(100 * i, i == 2 ? 40 : 5, i);
    m.kernel(100 * i + 7, i == 2 ? 4 : 50, i);
  }
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_FALSE(p.blocking_launches);
  EXPECT_EQ(p.plan.items[3].wait, WaitFor::nothing);
  EXPECT_EQ(p.plan.items[3].call, from_us(40));
  EXPECT_EQ(p.plan.items[3].submit, from_us(5));  // the kernel began at 7: 2 of latency
}

TEST(MeasuredPlan, ACopyToTheHostMayWaitInAnyRun) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 50, 1);
  m.call("cudaMemcpyAsync", 10, 60, 2);  // returns at 70
  m.activity(ActivityKind::memcpy, "Memcpy DtoH (Device -> Pageable)", 59.5, 2.5, 2);  // ends at 62
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.plan.works[1].engine, DeviceEngine::copy_to_host);
  EXPECT_EQ(p.plan.items[2].wait, WaitFor::own_work);
  EXPECT_EQ(p.plan.items[2].return_delay, from_us(8));
}

TEST(MeasuredPlan, SynchronisationsWaitForWhatTheTraceShows) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 50, 1);                        // ends at 57
  m.call("cudaStreamSynchronize", 10, 52);   // returns at 62
  m.call("cudaDeviceSynchronize", 70, 1.5);  // nothing left
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.plan.items[2].kind, ItemKind::sync);
  EXPECT_EQ(p.plan.items[2].wait, WaitFor::work);
  EXPECT_EQ(p.plan.items[2].wait_work, 0u);
  EXPECT_EQ(p.plan.items[2].call, from_us(2));  // what it costs by itself
  EXPECT_EQ(p.plan.items[3].wait, WaitFor::all_work);
  EXPECT_EQ(p.plan.items[3].call, from_us(1.5));
}

TEST(MeasuredPlan, WorkLaunchedBeforeTheTraceIsPreloaded) {
  TraceMaker m;
  m.kernel(0, 100, 77);
  m.kernel(100.4, 50, 78);  // closer behind than the host's constant of 1
  m.launch(10, 5, 1);
  m.kernel(151.9, 10, 1);  // the host is far ahead: 1.5 behind
  const MeasuredPlan p = measured_plan_of(m);
  ASSERT_EQ(p.plan.preloaded_start.size(), 2u);
  EXPECT_EQ(p.plan.works[0].item, no_index);
  const Timeline t = simulate(p.plan);
  EXPECT_EQ(t.work_begin[0], at_us(0));
  EXPECT_EQ(t.work_begin[1], at_us(100.4));
  EXPECT_EQ(t.work_begin[2], at_us(151.9));
}

TEST(MeasuredPlan, WorkWithoutACallFollowsTheOneBeforeIt) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 10, 1);
  m.kernel(20, 10, 999);  // nobody launched it
  m.launch(40, 5, 2);
  m.kernel(47, 10, 2);
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.plan.items[1].work_count, 2u);
  EXPECT_EQ(p.plan.works[1].source, 1u);
  EXPECT_EQ(p.plan.works[1].item, 1u);
}

TEST(MeasuredPlan, LaunchesWithoutWorkAreCalls) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 10, 1);
  m.launch(20, 5, 2);
  m.call("cudaMemsetAsync", 30, 1, 3);  // zero bytes
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.plan.items[2].kind, ItemKind::call);
  EXPECT_EQ(p.plan.items[3].kind, ItemKind::call);
  EXPECT_EQ(p.plan.items[3].work_count, 0u);
}

TEST(MeasuredPlan, NodesOfAGraphShareOnePlace) {
  TraceMaker m;
  m.call("cudaGraphLaunch", 0, 10, 1);
  for (int i = 0; i < 3; ++i) m.kernel(12 + 10.5 * i, 10, 1);
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_TRUE(p.graph_launches);
  EXPECT_EQ(p.plan.items[1].kind, ItemKind::graph_launch);
  EXPECT_EQ(p.plan.items[1].work_count, 3u);
  EXPECT_FALSE(p.plan.works[0].takes_slot);
  EXPECT_FALSE(p.plan.works[1].takes_slot);
  EXPECT_TRUE(p.plan.works[2].takes_slot);
  EXPECT_TRUE(p.plan.works[0].graph_node);
}

TEST(MeasuredPlan, ATraceOfTheDeviceAloneStandsBehindOneLaunch) {
  TraceMaker m;
  m.kernel(10, 10, -1);
  m.kernel(25, 10, -1);
  m.kernel(12, 5, -1, 1);
  const MeasuredPlan p = measured_plan_of(m);
  EXPECT_EQ(p.losses.count("device_only_trace"), 3);
  ASSERT_EQ(p.plan.items.size(), 3u);
  EXPECT_EQ(p.plan.items[1].kind, ItemKind::graph_launch);
  EXPECT_EQ(p.plan.items[1].work_count, 3u);
  const Timeline t = simulate(p.plan);
  for (std::uint32_t w = 0; w < 3; ++w) {
    EXPECT_EQ(t.work_begin[w], m.trace.activities.begin[p.plan.works[w].source]) << w;
  }
}

TEST(MeasuredPlan, AHandOffBetweenThreadsIsADependency) {
  TraceMaker m;
  m.step(1, 0, 400, 0);
  m.launch(10, 5, 1, 0);
  m.launch(100, 5, 2, 1);  // the backward pass, on a thread that was idle
  m.launch(300, 5, 3, 0);
  for (int i = 1; i <= 3; ++i) m.kernel(i == 1 ? 17 : i == 2 ? 107 : 307, 10, i);
  const MeasuredPlan p = measured_plan_of(m);
  const auto& items = p.plan.items;
  EXPECT_EQ(items[2].thread, 1);
  EXPECT_EQ(items[2].after, 1u);
  EXPECT_EQ(items[2].gap, from_us(85));  // from 15 to 100
  EXPECT_EQ(items[3].after, 2u);
  EXPECT_EQ(items[3].gap, from_us(195));
}

}  // namespace
}  // namespace tandem
