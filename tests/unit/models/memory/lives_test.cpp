// Peak of an allocator by the lives of what it gives out.
#include "models/memory/lives.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Lives, WholeUnits) {
  EXPECT_EQ(allocated_bytes(0, 512), 0);
  EXPECT_EQ(allocated_bytes(1, 512), 512);
  EXPECT_EQ(allocated_bytes(1024, 512), 1024);
}

// Operation 0: 10 kept + 5; 1: 10 + 5 + 7 = 22; 2: 10 + 7 = 17.
TEST(Lives, WhatOverlapsAddsUp) {
  const Life lives[] = {{0, 1, {5, 0}}, {1, 2, {7, 0}}};
  const auto worst = worst_moments(lives, 3, {10, 0});
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst_bytes(worst), 22);
}

// Moments of fixed + growing bytes: 8 + 1, 6 + 2 and 0 + 5. At growth g they are 8 + g, 6 + 2 g and
// 5 g: the first is the worst up to 2, where 5 g takes over; the second never is (at 2 it is 10
// too).
TEST(Lives, AMomentThatIsNowhereTheWorstIsLeftOut) {
  const Life lives[] = {{0, 0, {8, 1}}, {1, 1, {6, 2}}, {2, 2, {0, 5}}};
  const auto worst = worst_moments(lives, 3);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst_bytes(worst, 1), 9);
  EXPECT_EQ(worst_bytes(worst, 2), 10);
  EXPECT_EQ(worst_bytes(worst, 4), 20);
}

TEST(Lives, NothingTakesNothing) { EXPECT_EQ(worst_bytes({}), 0); }

}  // namespace
}  // namespace tandem
