// Dependencies inferred from what waited for what. Times in microseconds.
#include "models/runtime/inference.h"

#include <gtest/gtest.h>

#include "models/runtime/measured_plan.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::round_host;
using test::TraceMaker;

/// Two streams: kernel 0 [10, 60] on stream 0, kernel 1 [12, 90] on stream 1.
TraceMaker two_streams() {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(5, 5, 2);
  m.kernel(10, 50, 1, 0);
  m.kernel(12, 78, 2, 1);
  return m;
}

WaitInference::Target target_of(const TraceMaker& m, std::uint32_t call) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  const DeviceTiming timing(m.trace, links, host);
  return WaitInference(m.trace, links, timing).target(call);
}

TEST(WaitInference, TakesTheLatestEndThatExplainsTheReturn) {
  TraceMaker m = two_streams();
  const auto call = m.call("cudaStreamSynchronize", 20, 75);  // returns at 95
  const auto target = target_of(m, call);
  EXPECT_EQ(target.activity, 1u);
  EXPECT_TRUE(target.waited);
  EXPECT_FALSE(target.all);
}

TEST(WaitInference, IgnoresWorkThatEndedAfterTheReturn) {
  TraceMaker m = two_streams();
  const auto call = m.call("cudaStreamSynchronize", 20, 45);  // returns at 65
  EXPECT_EQ(target_of(m, call).activity, 0u);
}

TEST(WaitInference, KnowsThatNothingWasWaitedFor) {
  TraceMaker m = two_streams();
  const auto call = m.call("cudaStreamSynchronize", 200, 2);
  const auto target = target_of(m, call);
  EXPECT_EQ(target.activity, 1u);
  EXPECT_FALSE(target.waited);
}

TEST(WaitInference, FindsNoTargetBeforeAnyLaunch) {
  TraceMaker m;
  const auto call = m.call("cudaStreamSynchronize", 0, 2);
  m.launch(10, 5, 1);
  m.kernel(17, 5, 1);
  EXPECT_EQ(target_of(m, call).activity, no_row);
}

TEST(WaitInference, DeviceSynchronizeWaitsForAll) {
  TraceMaker m = two_streams();
  const auto call = m.call("cudaDeviceSynchronize", 20, 75);
  EXPECT_TRUE(target_of(m, call).all);
}

TEST(WaitInference, MeasuresTheTimeInAFullQueue) {
  TraceMaker m = two_streams();
  m.overhead("Command Buffer Full", 40, 20);
  m.overhead("Command Buffer Full", 100, 50);
  m.overhead("Instrumentation", 0, 500);
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  const DeviceTiming timing(m.trace, links, host);
  const WaitInference waits(m.trace, links, timing);
  EXPECT_EQ(waits.queue_full(at_us(0), at_us(30)), Duration{});
  EXPECT_EQ(waits.queue_full(at_us(50), at_us(70)), from_us(10));
  EXPECT_EQ(waits.queue_full(at_us(50), at_us(120)), from_us(30));
}

/// Thread 0 ran an item [0, 10]; thread 1 one [50, 60]; thread 0 goes on at `resumed`.
std::uint32_t hand_off(double resumed, const TraceMaker& ops) {
  std::vector<HostItem> items(2);
  items[1].thread = 1;
  return find_hand_off(ThreadId{0}, at_us(10), at_us(resumed), OpCover(ops.trace), items,
                       {at_us(0), at_us(50)}, {at_us(10), at_us(60)});
}

TraceMaker threads(double op_begin = 900, double op_us = 1) {
  TraceMaker m;
  m.op("aten::add", op_begin, op_us, 0);
  m.op("aten::add", 900, 1, 1);
  return m;
}

TEST(HandOff, IsAnIdleGapInWhichAnotherThreadRan) { EXPECT_EQ(hand_off(100, threads()), 1u); }

TEST(HandOff, NeedsAWholeItemOfTheOther) { EXPECT_EQ(hand_off(55, threads()), no_index); }

TEST(HandOff, NeedsAThreadThatIsNotInAnOperation) {
  EXPECT_EQ(hand_off(100, threads(40, 50)), no_index);  // thread 0 computes from 40 to 90
  EXPECT_EQ(hand_off(100, threads(20, 30)), 1u);        // it had stopped at 50
}

TEST(HandOff, IsNotAShortGap) {
  std::vector<HostItem> items(1);
  items[0].thread = 1;
  const TraceMaker m = threads();
  const OpCover cover(m.trace);
  EXPECT_EQ(
      find_hand_off(ThreadId{0}, at_us(10), at_us(29), cover, items, {at_us(12)}, {at_us(14)}),
      no_index);
  EXPECT_EQ(
      find_hand_off(ThreadId{0}, at_us(10), at_us(31), cover, items, {at_us(12)}, {at_us(14)}), 0u);
}

TEST(HandOff, StartsAThreadThatHasNotRunYet) {
  std::vector<HostItem> items(2);
  items[0].thread = 1;
  items[1].thread = 1;
  items[1].kind = ItemKind::step_end;  // markers wake nobody
  const TraceMaker m = threads();
  EXPECT_EQ(find_hand_off(ThreadId{0}, TimePoint::min(), at_us(100), OpCover(m.trace), items,
                          {at_us(50), at_us(70)}, {at_us(60), at_us(70)}),
            0u);
}

TEST(OpCover, MergesNestedAndOverlappingOperations) {
  TraceMaker m;
  m.op("outer", 10, 50);
  m.op("inner", 20, 5);
  m.op("overlapping", 55, 20);
  m.op("later", 100, 10);
  const OpCover cover(m.trace);
  const ThreadId t{0};
  EXPECT_FALSE(cover.covers(t, at_us(9)));
  EXPECT_TRUE(cover.covers(t, at_us(10)));
  EXPECT_TRUE(cover.covers(t, at_us(60)));
  EXPECT_FALSE(cover.covers(t, at_us(75)));
  EXPECT_EQ(cover.covered(t, at_us(0), at_us(200)), from_us(75));  // 10 to 75 and 100 to 110
  EXPECT_EQ(cover.covered(t, at_us(70), at_us(105)), from_us(10));
  EXPECT_EQ(cover.covered(t, at_us(80), at_us(90)), Duration{});
  // Without an operation: 10 to 10, 75 to 100 and 110 to 200, 5 and 70 beyond 20 each.
  EXPECT_EQ(cover.bare(t, at_us(10), at_us(200), from_us(20)), from_us(75));
  EXPECT_EQ(cover.bare(t, at_us(80), at_us(90), from_us(4)), from_us(6));
  EXPECT_EQ(cover.bare(t, at_us(80), at_us(90), from_us(20)), Duration{});
}

MeasuredPlan plan_of(const TraceMaker& m) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  return measured_plan(m.trace, links, host, DeviceTiming(m.trace, links, host));
}

TEST(InferEdges, LateStartRightAfterAnotherStreamIsAnEdge) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(5, 5, 2);
  m.kernel(10, 50, 1, 0);    // ends at 60
  m.kernel(61.5, 20, 2, 1);  // could have begun at 12
  const MeasuredPlan measured = plan_of(m);
  const DeviceWork& late = measured.plan.works[1];
  ASSERT_EQ(late.edge_count, 1u);
  EXPECT_EQ(measured.plan.edges[late.first_edge].work, 0u);
  EXPECT_EQ(measured.plan.edges[late.first_edge].delay, from_us(1.5));
  EXPECT_EQ(late.latency, from_us(2));
}

TEST(InferEdges, LateStartWithoutACauseKeepsItsDelay) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(5, 5, 2);
  m.kernel(10, 20, 1, 0);   // ends at 30, more than 20 before
  m.kernel(100, 20, 2, 1);  // could have begun at 12
  const MeasuredPlan measured = plan_of(m);
  EXPECT_EQ(measured.plan.works[1].edge_count, 0u);
  EXPECT_EQ(measured.plan.works[1].latency, from_us(90));  // 2 + 88
  // The first began at 10, which is 3 after the rules allow.
  EXPECT_EQ(measured.plan.works[0].latency, from_us(5));
  EXPECT_EQ(measured.losses.count("unexplained_device_delay"), 2);
}

TEST(InferEdges, LateStartBehindItsOwnStreamIsAGap) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(5, 5, 2);
  m.kernel(7, 50, 1);   // ends at 57
  m.kernel(70, 20, 2);  // 1 would be enough
  const MeasuredPlan measured = plan_of(m);
  EXPECT_EQ(measured.plan.works[1].gap, from_us(13));
  EXPECT_EQ(measured.losses.count("unexplained_device_delay"), 1);
}

TEST(InferEdges, SmallDelaysAreNoise) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(9.4, 20, 1);  // 2.4 late
  const MeasuredPlan measured = plan_of(m);
  EXPECT_EQ(measured.plan.works[0].latency, from_us(2));
  EXPECT_EQ(measured.losses.count("unexplained_device_delay"), 0);
}

}  // namespace
}  // namespace tandem
