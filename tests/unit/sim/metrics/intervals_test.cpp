#include "sim/metrics/intervals.h"

#include <gtest/gtest.h>

#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::at_us;

double union_us(std::vector<Interval> intervals, double from = 0, double to = 100) {
  return to_us(union_length(intervals, at_us(from), at_us(to)));
}

TEST(UnionLength, OfNothingIsZero) { EXPECT_EQ(union_us({}), 0); }

TEST(UnionLength, AddsDisjointAndMergesOverlapping) {
  EXPECT_DOUBLE_EQ(union_us({{at_us(1), at_us(3)}, {at_us(5), at_us(9)}}), 6);
  EXPECT_DOUBLE_EQ(union_us({{at_us(1), at_us(6)}, {at_us(5), at_us(9)}}), 8);
  EXPECT_DOUBLE_EQ(union_us({{at_us(1), at_us(3)}, {at_us(3), at_us(9)}}), 8);
}

TEST(UnionLength, CountsNestedAndEqualOnce) {
  EXPECT_DOUBLE_EQ(union_us({{at_us(1), at_us(9)}, {at_us(2), at_us(3)}, {at_us(4), at_us(5)}}), 8);
  EXPECT_DOUBLE_EQ(union_us({{at_us(1), at_us(9)}, {at_us(1), at_us(9)}}), 8);
}

TEST(UnionLength, DoesNotNeedOrder) {
  EXPECT_DOUBLE_EQ(union_us({{at_us(7), at_us(9)}, {at_us(1), at_us(3)}, {at_us(2), at_us(4)}}), 5);
}

TEST(UnionLength, ClipsToTheWindow) {
  EXPECT_DOUBLE_EQ(union_us({{at_us(-5), at_us(3)}, {at_us(90), at_us(120)}}), 13);
  EXPECT_DOUBLE_EQ(union_us({{at_us(-5), at_us(-3)}, {at_us(100), at_us(120)}}), 0);
  EXPECT_DOUBLE_EQ(union_us({{at_us(0), at_us(50)}}, 50, 10), 0);
}

TEST(UnionLength, IgnoresEmptyAndReversed) {
  EXPECT_DOUBLE_EQ(union_us({{at_us(5), at_us(5)}, {at_us(9), at_us(7)}, {at_us(1), at_us(2)}}), 1);
}

}  // namespace
}  // namespace tandem
