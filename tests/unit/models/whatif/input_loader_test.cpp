// Where a loader's hand-off goes in a step of two threads.
#include <gtest/gtest.h>

#include "models/whatif/input/loader.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

/// The program (thread 0) reads input, hands to the backward thread (1), and is handed back to; the
/// item that waits longest is the one that was handed to.
Plan handed_to() {
  test::PlanBuilder b(2);
  b.marker(ItemKind::step_begin);  // 0
  b.launch(10, 4, {.us = 10});     // 1
  b.launch(10, 4, {.us = 10}, 1);  // 2, after 1
  b.launch(30, 4, {.us = 10});     // 3, after 2
  b.launch(10, 4, {.us = 10}, 1);  // 4
  b.launch(10, 4, {.us = 10});     // 5
  b.launch(10, 4, {.us = 10}, 1);  // 6, after 5
  b.plan.items[2].after = 1;
  b.plan.items[3].after = 2;
  b.plan.items[3].input = from_us(20);
  b.plan.items[6].after = 5;
  return b.plan;
}

TEST(InputLoader, TheNextItemOfTheThreadReadsForOneThatWaitsAlready) {
  EXPECT_EQ(reader_of(handed_to()), 5U);
  Plan alone = handed_to();
  alone.items[3].after = no_index;
  EXPECT_EQ(reader_of(alone), 3U);
}

TEST(InputLoader, WithoutAnyWaitTheFirstItemReads) {
  Plan plan = handed_to();
  drop_input_waits(plan);
  EXPECT_EQ(plan.items[3].gap, from_us(10));
  EXPECT_EQ(reader_of(plan), 1U);
}

TEST(InputLoader, EveryReferenceMovesWithItsItem) {
  const Plan before = handed_to();
  Plan plan = before;
  const std::uint32_t reader = reader_of(plan);
  add_loader(from_us(500), reader, plan);
  ASSERT_EQ(plan.items.size(), before.items.size() + 1);
  EXPECT_EQ(plan.items[reader].thread, 2);
  EXPECT_EQ(plan.items[reader + 1].after, reader);
  EXPECT_EQ(plan.items[2].after, 1U);
  EXPECT_EQ(plan.items[3].after, 2U);
  EXPECT_EQ(plan.items[7].after, 6U);  // the hand-off of the reader itself
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    const HostItem& item = plan.items[plan.works[w].item];
    EXPECT_EQ(item.first_work, w);
    EXPECT_EQ(item.work_count, 1U);
  }
  const Timeline t = simulate(plan);
  EXPECT_GE(t.item_begin[reader + 1], test::at_us(500));
}

}  // namespace
}  // namespace tandem
