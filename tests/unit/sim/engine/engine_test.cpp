// When host items and device work begin and end. Sums in the comments are in microseconds.
#include "sim/engine/engine.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;

TEST(Engine, EmptyPlanEndsAtOnce) {
  const Timeline t = simulate(Plan{});
  EXPECT_EQ(t.end, TimePoint{});
  EXPECT_EQ(t.events, 0u);
}

TEST(Engine, LaunchStartsItsWorkAfterGapCallAndLatency) {
  PlanBuilder b;
  b.launch(3, 5, {.us = 10, .latency_us = 2});
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_begin[0], at_us(3));
  EXPECT_EQ(t.item_end[0], at_us(8));     // 3 + 5
  EXPECT_EQ(t.item_submit[0], at_us(8));  // submitted at the end of the call
  EXPECT_EQ(t.work_begin[0], at_us(10));  // 3 + 5 + 2
  EXPECT_EQ(t.work_end[0], at_us(20));
  EXPECT_EQ(t.end, at_us(20));
  EXPECT_EQ(t.events, 2u);  // the item's begin, the work's end
}

TEST(Engine, WorkMayStartBeforeItsCallReturns) {
  PlanBuilder b;
  b.launch(3, 5, {.us = 10, .latency_us = 2});
  b.plan.items[0].submit = from_us(1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(6));  // 3 + 1 + 2
  EXPECT_EQ(t.item_end[0], at_us(8));
}

TEST(Engine, ThreadsBeginWhenThePlanSays) {
  PlanBuilder b(2);
  b.plan.threads[1].begin = at_us(100);
  b.call(1, 2, 0);
  b.call(1, 2, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[0], at_us(3));
  EXPECT_EQ(t.item_end[1], at_us(103));
}

TEST(Engine, QueuedWorkStartsAGapAfterItsPredecessor) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.launch(0, 1, {.us = 10, .gap_us = 1.5});
  b.launch(0, 1, {.us = 10, .gap_us = 1.5});
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(3));     // 1 + 2
  EXPECT_EQ(t.work_begin[1], at_us(14.5));  // 13 + 1.5
  EXPECT_EQ(t.work_begin[2], at_us(26));    // 24.5 + 1.5
  EXPECT_EQ(t.item_end[2], at_us(3));       // the host does not wait
}

TEST(Engine, AFarLeadOfTheHostHasAGapOfItsOwn) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 80});                                    // [3, 83]
  b.launch(0, 1, {.us = 40, .gap_us = 1, .far_gap_us = 1.5});    // lead 81: [84, 124]
  b.launch(0, 1, {.us = 40, .gap_us = 1, .far_gap_us = 1.5});    // lead 121: 124 + 1.5
  b.launch(21, 0.5, {.us = 4, .gap_us = 1, .far_gap_us = 1.5});  // lead 165.5 - 24.5 = 141
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[1], at_us(84));
  EXPECT_EQ(t.work_begin[2], at_us(125.5));
  EXPECT_EQ(t.work_begin[3], at_us(167));
}

TEST(Engine, IdleStreamCostsLatencyNotGap) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});                     // [3, 13]
  b.launch(19, 1, {.us = 10, .gap_us = 1});       // submitted at 21: 21 + 2
  b.launch(13.5, 1, {.us = 10, .gap_us = 4});     // submitted at 35.5: 37.5 > 33 + 4
  b.launch(9.5, 1, {.us = 10, .latency_us = 0});  // submitted at 46: 47.5 + 1 = 48.5
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[1], at_us(23));
  EXPECT_EQ(t.work_begin[2], at_us(37.5));
  EXPECT_EQ(t.work_begin[3], at_us(48.5));
}

TEST(Engine, NegativeGapOverlapsThePredecessor) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});                   // [3, 13]
  b.launch(0, 1, {.us = 10, .gap_us = -2});     // [11, 21]
  b.launch(0, 1, {.us = 0.5, .gap_us = -100});  // may start at 5; ends no earlier than 21
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[1], at_us(11));
  EXPECT_EQ(t.work_end[1], at_us(21));
  EXPECT_EQ(t.work_begin[2], at_us(5));  // 3 + 2
  EXPECT_EQ(t.work_end[2], at_us(21));
}

TEST(Engine, EdgeHoldsWorkOfAnotherStream) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 10});                                            // [3, 13]
  b.launch(0, 1, {.us = 5, .stream = 1, .edges = {{0, from_us(1.5)}}});  // 13 + 1.5
  b.launch(0, 1, {.us = 5, .stream = 1});                                // behind it: 19.5 + 1
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[1], at_us(14.5));
  EXPECT_EQ(t.work_begin[2], at_us(20.5));
}

TEST(Engine, EdgeThatEndedLongAgoCostsNothing) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 10});                                             // [3, 13]
  b.launch(29, 1, {.us = 5, .stream = 1, .edges = {{0, from_us(1.5)}}});  // 31 + 2 > 14.5
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[1], at_us(33));
}

TEST(Engine, TheLatestOfSeveralEdgesDecides) {
  PlanBuilder b(1, 3);
  b.launch(0, 1, {.us = 30, .stream = 0});  // [3, 33]
  b.launch(0, 1, {.us = 10, .stream = 1});  // [4, 14]
  b.launch(0, 1, {.us = 5, .stream = 2, .edges = {{1, from_us(25)}, {0, from_us(1)}}});
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[2], at_us(39));  // max(14 + 25, 33 + 1)
}

TEST(Engine, HandOffDelaysTheGap) {
  PlanBuilder b(2);
  b.call(3, 5, 0);                             // [3, 8]
  const std::uint32_t back = b.call(4, 2, 1);  // 8 + 4
  b.plan.items[back].after = 0;
  const std::uint32_t resumed = b.call(1, 1, 0);  // 14 + 1
  b.plan.items[resumed].after = back;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_begin[back], at_us(12));
  EXPECT_EQ(t.item_begin[resumed], at_us(15));
}

TEST(Engine, HandOffDoesNotHurryABusyThread) {
  PlanBuilder b(2);
  b.call(0, 5, 0);
  b.call(0, 20, 1);
  const std::uint32_t next = b.call(4, 1, 1);
  b.plan.items[next].after = 0;  // ended at 5, but thread 1 is busy until 20
  EXPECT_EQ(simulate(b.plan).item_begin[next], at_us(24));
}

TEST(Engine, OneItemWakesSeveralThreads) {
  PlanBuilder b(3);
  b.call(0, 5, 0);
  for (const int thread : {1, 2}) b.plan.items[b.call(1, 1, thread)].after = 0;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_begin[1], at_us(6));
  EXPECT_EQ(t.item_begin[2], at_us(6));
}

TEST(Engine, PreloadedWorkHoldsItsStream) {
  PlanBuilder b;
  b.preloaded(5, {.us = 100});    // [5, 105]
  b.preloaded(5, {.us = 10});     // behind it: [106, 116]
  b.launch(0, 1, {.us = 10});     // 116 + 1
  b.sync(0, 2, 5.5, /*work=*/0);  // preloaded work can be waited for
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(5));
  EXPECT_EQ(t.work_begin[1], at_us(106));
  EXPECT_EQ(t.work_begin[2], at_us(117));
  EXPECT_EQ(t.item_end[1], at_us(110.5));  // 105 + 5.5
}

TEST(Engine, CopiesOfOneDirectionShareACopyEngine) {
  PlanBuilder b(1, 4);
  b.launch(0, 1, {.us = 20, .stream = 0, .engine = DeviceEngine::copy_to_device});  // [3, 23]
  b.launch(0, 1, {.us = 20, .stream = 1, .engine = DeviceEngine::copy_to_device});  // [23, 43]
  b.launch(0, 1, {.us = 20, .stream = 2, .engine = DeviceEngine::copy_to_host});    // 3 + 2
  b.launch(0, 1, {.us = 20, .stream = 3});                                          // 4 + 2
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(3));
  EXPECT_EQ(t.work_begin[1], at_us(23));
  EXPECT_EQ(t.work_begin[2], at_us(5));
  EXPECT_EQ(t.work_begin[3], at_us(6));
}

TEST(Engine, StreamsRunInTheOrderOfThePlanWhoeverLaunchesFirst) {
  PlanBuilder b(2);
  b.launch(10, 1, {.us = 5}, 0);  // first in the plan, submitted at 11
  b.launch(0, 1, {.us = 5}, 1);   // submitted at 1, waits for its turn
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(13));
  EXPECT_EQ(t.work_begin[1], at_us(19));  // 18 + 1
}

TEST(Engine, EventsAtOneTimeRunInTheOrderTheyWereMade) {
  // Both threads launch at 0 into a queue of one place: thread 0 was put on the calendar first.
  PlanBuilder b(2);
  b.launch(0, 1, {.us = 10}, 0);
  b.launch(0, 1, {.us = 10}, 1);
  b.plan.queue_depth = 1;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[0], at_us(1));
  EXPECT_EQ(t.item_end[1], at_us(14));  // w0 runs [3, 13], then the call
  EXPECT_EQ(t.item_slot[0], no_index);
  EXPECT_EQ(t.item_slot[1], 0u);
}

TEST(Engine, GivesTheSameTimelineEveryTime) {
  PlanBuilder b(2, 2);
  for (int i = 0; i < 50; ++i) {
    b.launch(i % 3, 1, {.us = 1.0 + i % 7, .stream = i % 2}, i % 2);
  }
  b.plan.queue_depth = 4;
  const Timeline a = simulate(b.plan);
  const Timeline c = simulate(b.plan);
  EXPECT_EQ(a.work_begin, c.work_begin);
  EXPECT_EQ(a.item_end, c.item_end);
  EXPECT_EQ(a.item_slot, c.item_slot);
  EXPECT_EQ(a.events, c.events);
}

TEST(Engine, RejectsAHandOffThatPointsForward) {
  PlanBuilder b;
  b.call(0, 1);
  b.plan.items[0].after = b.call(0, 1);
  EXPECT_THROW(simulate(b.plan), InputError);
}

TEST(Engine, EdgeToLaterWorkCountsOnceThatRuns) {
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 5, .stream = 0, .edges = {{1, from_us(1)}}}, 0);  // submitted at 1
  b.launch(5, 1, {.us = 10, .stream = 1}, 1);                             // submitted at 6
  EXPECT_EQ(simulate(b.plan).work_begin[0], at_us(3));   // work 1 was not there yet
  b.plan.items[0].gap = from_us(8);                      // submitted at 9
  EXPECT_EQ(simulate(b.plan).work_begin[0], at_us(19));  // work 1 [8, 18]
}

TEST(Engine, EdgeToWorkBehindItselfDoesNotCount) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 50, .stream = 1});                        // [3, 53]
  b.launch(0, 1, {.edges = {{0, from_us(1)}, {2, from_us(1)}}});  // the next one waits for this
  b.launch(0, 1, {});
  EXPECT_EQ(simulate(b.plan).work_begin[1], at_us(54));
}

TEST(Engine, RejectsWorkThatNoItemLaunches) {
  PlanBuilder b;
  b.launch(0, 1, {});
  b.add_work({}, 0);
  EXPECT_THROW(simulate(b.plan), InputError);
}

TEST(Engine, RejectsAWaitForWorkThatIsNeverLaunched) {
  PlanBuilder b(1, 2);
  b.sync(0, 1, 1, /*work=*/0);
  b.launch(0, 1, {});
  EXPECT_THROW(simulate(b.plan), InputError);
}

TEST(Engine, RejectsPreloadedWorkWithoutAStart) {
  PlanBuilder b;
  b.add_work({}, no_index);
  EXPECT_THROW(simulate(b.plan), std::exception);
}

// Two streams; kernels of 100 us; each launch takes 5 from its begin to its end.
Plan two_kernels(float first, float second) {
  test::PlanBuilder b(2, 2);
  b.launch(0, 5, {.us = 100, .latency_us = 0, .stream = 0});
  b.launch(10, 5, {.us = 100, .latency_us = 0, .stream = 1}, 1);
  b.plan.works[0].pool_share = first;
  b.plan.works[1].pool_share = second;
  return b.plan;
}

TEST(EnginePool, LaterWorkGetsWhatEarlierWorkLeaves) {
  // The first runs from 5 to 105, the second from 15: at half speed until 105 (45 of 100 done),
  // then alone: 55 more.
  const Timeline t = simulate(two_kernels(0.5F, 1.0F));
  EXPECT_EQ(t.work_end[0], at_us(105));
  EXPECT_EQ(t.work_begin[1], at_us(15));
  EXPECT_EQ(t.work_end[1], at_us(160));
}

TEST(EnginePool, WorkThatFitsBesideIsNotSlowed) {
  EXPECT_EQ(simulate(two_kernels(0.5F, 0.5F)).work_end[1], at_us(115));
  EXPECT_EQ(simulate(two_kernels(0.0F, 1.0F)).work_end[1], at_us(115));
}

TEST(EnginePool, AFullDeviceMakesLaterWorkWait) {
  EXPECT_EQ(simulate(two_kernels(1.0F, 0.25F)).work_end[1], at_us(205));
}

}  // namespace
}  // namespace tandem
