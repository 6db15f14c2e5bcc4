// When a host thread waits for the device, and for how long. Sums in microseconds.
#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;

TEST(EngineWait, SyncReturnsADelayAfterItsWork) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});  // [3, 13]
  b.sync(0, 2, 5.5, 0);
  b.call(1, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_begin[1], at_us(1));
  EXPECT_EQ(t.item_end[1], at_us(18.5));    // 13 + 5.5
  EXPECT_EQ(t.item_begin[2], at_us(19.5));  // the thread goes on from there
}

TEST(EngineWait, SyncForWorkThatEndedCostsItsCallOnly) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});  // [3, 13]
  b.sync(99, 2, 5.5, 0);       // begins at 100
  EXPECT_EQ(simulate(b.plan).item_end[1], at_us(102));
}

TEST(EngineWait, SyncJustAfterTheEndStillSeesTheReturnDelay) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});  // [3, 13]
  b.sync(11, 2, 5.5, 0);       // the call's own time ends at 14: max(14, 13 + 5.5)
  EXPECT_EQ(simulate(b.plan).item_end[1], at_us(18.5));
}

TEST(EngineWait, SyncWaitsForItsTargetNotForLaterWork) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});   // [3, 13]
  b.launch(0, 1, {.us = 500});  // [14, 514]
  b.sync(0, 2, 5.5, 0);
  EXPECT_EQ(simulate(b.plan).item_end[2], at_us(18.5));
}

TEST(EngineWait, OwnWorkHoldsTheLaunch) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});  // [3, 13]
  b.launch(0, 1, {.us = 10});  // waits for the first too: [14, 24]
  b.plan.items[1].wait = WaitFor::own_work;
  b.plan.items[1].return_delay = from_us(2.9);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_submit[1], at_us(2));
  EXPECT_EQ(t.item_end[1], at_us(26.9));
}

TEST(EngineWait, OwnWorkOfAGraphIsItsLastNode) {
  PlanBuilder b;
  b.graph(0, 1, {{.us = 10}, {.us = 10, .gap_us = 0.5}, {.us = 10, .gap_us = 0.5}});
  b.plan.items[0].wait = WaitFor::own_work;
  // 1 + 2 + 10 + 0.5 + 10 + 0.5 + 10
  EXPECT_EQ(simulate(b.plan).item_end[0], at_us(34));
}

TEST(EngineWait, AllWorkIsTheLatestOfAllStreams) {
  PlanBuilder b(1, 3);
  b.launch(0, 1, {.us = 10, .stream = 0});  // [3, 13]
  b.launch(0, 1, {.us = 20, .stream = 1});  // [4, 24]
  b.sync(0, 2, 5.5, no_index);              // stream 2 was never used
  EXPECT_EQ(simulate(b.plan).item_end[2], at_us(29.5));
}

TEST(EngineWait, AllWorkThatEndedLongAgoCostsTheCallOnly) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 10});
  b.sync(99, 2, 5.5, no_index);
  b.sync(0, 2, 5.5, no_index);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[1], at_us(102));
  EXPECT_EQ(t.item_end[2], at_us(104));
}

TEST(EngineWait, AllWorkWithoutAnyCostsTheCallOnly) {
  PlanBuilder b;
  b.sync(1, 2, 5.5, no_index);
  EXPECT_EQ(simulate(b.plan).item_end[0], at_us(3));
}

TEST(EngineWait, AllWorkDoesNotWaitForWhatIsLaunchedLater) {
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 10, .stream = 0}, 0);   // [3, 13]
  b.sync(0, 2, 5.5, no_index, 0);               // begins at 1
  b.launch(9, 1, {.us = 500, .stream = 0}, 1);  // submitted at 10
  b.launch(0, 1, {.us = 500, .stream = 1}, 1);
  EXPECT_EQ(simulate(b.plan).item_end[1], at_us(18.5));
}

TEST(EngineWait, AllWorkDoesNotWaitForThreadsThatRanAhead) {
  // Work 1 is there when the synchronisation begins, but behind work 0, which comes after it.
  PlanBuilder b(2);
  b.sync(20, 2, 5, no_index, 0);
  b.launch(0, 1, {.us = 10}, 0);
  b.launch(0, 1, {.us = 10}, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[0], at_us(22));
  EXPECT_EQ(t.work_begin[0], at_us(25));  // 22 + 1 + 2
  EXPECT_EQ(t.work_begin[1], at_us(36));
}

TEST(EngineWait, AllWorkIncludesPreloadedWork) {
  PlanBuilder b;
  b.preloaded(0, {.us = 50});
  b.sync(0, 2, 5.5, no_index);
  EXPECT_EQ(simulate(b.plan).item_end[0], at_us(55.5));
}

TEST(EngineWait, TwoThreadsMayWaitForOnePieceOfWork) {
  PlanBuilder b(2);
  b.launch(0, 1, {.us = 10}, 0);  // [3, 13]
  b.sync(0, 2, 5, 0, 0);
  b.sync(2, 2, 7, 0, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[1], at_us(18));
  EXPECT_EQ(t.item_end[2], at_us(20));
}

TEST(EngineQueue, HostBlocksWhenTheQueueIsFull) {
  PlanBuilder b;
  for (int i = 0; i < 4; ++i) b.launch(0, 1, {.us = 100});
  b.plan.queue_depth = 2;
  const Timeline t = simulate(b.plan);
  // w0 [3, 103]; the third launch wants to begin at 2 and gets its place at 103.
  EXPECT_EQ(t.item_end[1], at_us(2));
  EXPECT_EQ(t.item_begin[2], at_us(2));
  EXPECT_EQ(t.item_end[2], at_us(104));
  EXPECT_EQ(t.item_slot[2], 0u);
  // w1 [104, 204]; then the fourth.
  EXPECT_EQ(t.item_begin[3], at_us(104));
  EXPECT_EQ(t.item_end[3], at_us(205));
  EXPECT_EQ(t.item_slot[3], 1u);
  EXPECT_EQ(t.work_begin[3], at_us(306));  // the device never starves: 3 + 3 * 101
}

TEST(EngineQueue, CallsWithoutWorkNeedNoPlace) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 100});
  b.call(0, 1);
  b.launch(0, 1, {.us = 100});
  b.plan.queue_depth = 1;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[1], at_us(2));
  EXPECT_EQ(t.item_end[2], at_us(104));
}

TEST(EngineQueue, EveryStreamHasAQueueOfItsOwn) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 100, .stream = 0});
  b.launch(0, 1, {.us = 100, .stream = 1});
  b.plan.queue_depth = 1;
  EXPECT_EQ(simulate(b.plan).item_end[1], at_us(2));
}

TEST(EngineQueue, AGraphHoldsOnePlaceUntilItsLastNodeEnds) {
  PlanBuilder b;
  b.graph(0, 1, {{.us = 10, .gap_us = 0}, {.us = 10, .gap_us = 0}, {.us = 10, .gap_us = 0}});
  b.launch(0, 1, {.us = 10});  // the second place
  b.launch(0, 1, {.us = 10});
  b.plan.queue_depth = 2;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[1], at_us(2));
  EXPECT_EQ(t.item_slot[2], 2u);        // not woken for good by nodes 0 and 1
  EXPECT_EQ(t.item_end[2], at_us(34));  // 1 + 2 + 30, then the call
}

TEST(EngineQueue, PreloadedWorkTakesPlaces) {
  PlanBuilder b;
  b.preloaded(0, {.us = 50});
  b.launch(0, 1, {.us = 10});
  b.plan.queue_depth = 1;
  EXPECT_EQ(simulate(b.plan).item_end[0], at_us(51));
}

TEST(EngineQueue, BlockedThreadsGoOnOneAfterTheOther) {
  PlanBuilder b(3);
  for (int thread = 0; thread < 3; ++thread) b.launch(0, 1, {.us = 10}, thread);
  b.plan.queue_depth = 1;
  const Timeline t = simulate(b.plan);
  // w0 [3, 13]; thread 1 calls 13..14, w1 [16, 26]; thread 2 calls 26..27.
  EXPECT_EQ(t.item_end[1], at_us(14));
  EXPECT_EQ(t.item_end[2], at_us(27));
  EXPECT_EQ(t.item_slot[2], 1u);
}

TEST(EngineQueue, AFullQueueDoesNotLockOutTheWorkThatIsNext) {
  // Thread 1 runs ahead and fills the queue with work that stands behind thread 0's in the plan.
  PlanBuilder b(2);
  b.launch(10, 1, {.us = 10}, 0);
  b.launch(0, 1, {.us = 10}, 1);
  b.launch(0, 1, {.us = 10}, 1);
  b.plan.queue_depth = 1;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(13));  // 10 + 1 + 2
  EXPECT_EQ(t.work_begin[1], at_us(24));
  EXPECT_EQ(t.work_begin[2], at_us(37));  // w1 ends at 34: 34 + 1 + 2
}

}  // namespace
}  // namespace tandem
