// Work of several ranks that ends together. Times in microseconds.
#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;

/// Two ranks of one thread and one stream each.
PlanBuilder two_ranks() {
  PlanBuilder b(2, 2);
  b.plan.threads[1].rank = 1;
  b.plan.stream_rank = {0, 1};
  return b;
}

TEST(EngineMeeting, DataMovesWhenTheLastRankIsThere) {
  PlanBuilder b = two_ranks();
  b.launch(0, 1, {.us = 10, .stream = 0, .engine = DeviceEngine::collective}, 0);   // there at 3
  b.launch(50, 1, {.us = 10, .stream = 1, .engine = DeviceEngine::collective}, 1);  // at 53
  b.launch(0, 1, {.us = 5, .stream = 0}, 0);
  b.plan.meetings.push_back({2});
  b.plan.works[0].meeting = b.plan.works[1].meeting = 0;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(3));
  EXPECT_EQ(t.work_begin[1], at_us(53));
  EXPECT_EQ(t.work_end[0], at_us(63));  // 53 + 10
  EXPECT_EQ(t.work_end[1], at_us(63));
  EXPECT_EQ(t.work_begin[2], at_us(64));  // behind it, after the stream's gap of 1
}

// Half of rank 0's places are held from 3 until rank 1 comes at 503, so that a kernel of 100 which
// would fill the device takes 200.
TEST(EngineMeeting, WhoWaitsForOtherRanksHoldsItsPlaces) {
  PlanBuilder b(2, 3);
  b.plan.threads[1].rank = 1;
  b.plan.stream_rank = {0, 1, 0};
  b.launch(0, 1, {.us = 10, .stream = 0, .engine = DeviceEngine::collective}, 0);
  b.launch(500, 1, {.us = 10, .stream = 1, .engine = DeviceEngine::collective}, 1);
  b.launch(0, 1, {.us = 100, .stream = 2}, 0);
  b.plan.meetings.push_back({2});
  b.plan.works[0].meeting = b.plan.works[1].meeting = 0;
  b.plan.works[0].pool_share = 0.5F;
  b.plan.works[2].pool_share = 1.0F;
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[2], at_us(4));
  EXPECT_EQ(t.work_end[2], at_us(204));
  EXPECT_EQ(t.work_end[0], at_us(513));
}

TEST(EngineMeeting, AThreadWaitsForTheWorkOfItsOwnRank) {
  PlanBuilder b = two_ranks();
  b.launch(0, 1, {.us = 10, .stream = 0}, 0);   // [3, 13]
  b.launch(0, 1, {.us = 500, .stream = 1}, 1);  // [3, 503]
  b.sync(0, 2, 1, no_index, 0);
  b.sync(0, 2, 1, no_index, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.item_end[2], at_us(14));
  EXPECT_EQ(t.item_end[3], at_us(504));
}

TEST(EngineMeeting, RanksHaveCopyEnginesOfTheirOwn) {
  PlanBuilder b = two_ranks();
  b.launch(0, 1, {.us = 20, .stream = 0, .engine = DeviceEngine::copy_to_device}, 0);
  b.launch(0, 1, {.us = 20, .stream = 1, .engine = DeviceEngine::copy_to_device}, 1);
  const Timeline t = simulate(b.plan);
  EXPECT_EQ(t.work_begin[0], at_us(3));
  EXPECT_EQ(t.work_begin[1], at_us(3));
}

TEST(EngineMeeting, WhoeverNeverComesLeavesAPlanThatCannotFinish) {
  PlanBuilder b = two_ranks();
  b.launch(0, 1, {.us = 10, .stream = 0, .engine = DeviceEngine::collective}, 0);
  b.plan.meetings.push_back({2});
  b.plan.works[0].meeting = 0;
  EXPECT_THROW(simulate(b.plan), InputError);
}

}  // namespace
}  // namespace tandem
