#include "models/kernel/residual.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

// 11 us above a floor of 1: half of the body is 5.
TEST(Residual, AKeptResidualScalesTheBody) {
  EXPECT_DOUBLE_EQ(carried_us(11, 1, 0.5), 6);
  EXPECT_DOUBLE_EQ(carried_us(0.5, 1, 0.5), 0.5);  // at the floor nothing changes
}

// A body of 8 us where the model says 2: without damping the residual of 4 carries over whole, and
// 3 modelled us become 12. A damping of 8 us believes half of it: 4^(8 / 16) = 2, so 6.
TEST(Residual, DampingBelievesAPartOfTheLogarithm) {
  EXPECT_DOUBLE_EQ(carried_us(10, 2, {.floor_share = 0.9, .us = 0}, 2, 3), 2 + 12);
  EXPECT_DOUBLE_EQ(carried_us(10, 2, {.floor_share = 0.9, .us = 8}, 2, 3), 2 + 6);
  // The floor is at most a share of what was measured: of 2 us a tenth, and 1.8 us are body.
  EXPECT_DOUBLE_EQ(carried_us(2, 2, {.floor_share = 0.1, .us = 0}, 1.8, 1.8), 2);
}

// From a GPU with a floor of 2 to one with a floor of 4, the modelled body from 8 to 4: what was
// measured as modelled becomes the other model's time.
TEST(Residual, AnotherGpuHasItsOwnFloor) {
  const Damping damping{.floor_share = 0.9, .us = 1};
  EXPECT_DOUBLE_EQ(carried_us(10, {2, 8}, {4, 4}, damping), 8);
  EXPECT_DOUBLE_EQ(carried_us(10, {2, 8}, {2, 8}, damping), 10);
  EXPECT_NEAR(carried_us(20, {2, 8}, {2, 8}, damping), 20, 1e-12);
}

}  // namespace
}  // namespace tandem
