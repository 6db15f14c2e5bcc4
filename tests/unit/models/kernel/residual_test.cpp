#include "models/kernel/residual.h"

#include <gtest/gtest.h>

#include <cmath>

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

// From a GPU with a floor of 2 to one with a floor of 4. Of a body of 8 us whose bytes take 8 all
// is moved, and half the memory time leaves 4; above a floor of 4 that is 8.
TEST(Residual, WhatTheBytesExplainFollowsTheMemory) {
  const ModelledTime from{2, 8, 1};
  EXPECT_DOUBLE_EQ(carried_us(10, from, {4, 4, 1}, 0.9), 8);
  EXPECT_DOUBLE_EQ(carried_us(10, from, {4, 4, 9}, 0.9), 8);  // no rest that could follow the SMs
  EXPECT_DOUBLE_EQ(carried_us(10, from, from, 0.9), 10);
}

// Of a body of 10 us the bytes explain 6: sqrt(100 - 36) = 8 is left for the SMs. Twice the memory
// time and half the other: hypot(12, 4) = sqrt(160). A part that is not modelled stays.
TEST(Residual, TheRestFollowsTheSms) {
  const ModelledTime from{1, 6, 3};
  EXPECT_DOUBLE_EQ(carried_us(11, from, {1, 12, 1.5}, 0.9), 1 + std::sqrt(160));
  EXPECT_DOUBLE_EQ(carried_us(11, from, {1, 6, 0}, 0.9), 11);
  EXPECT_DOUBLE_EQ(carried_us(11, {1, 0, 3}, {1, 0, 1.5}, 0.9), 6);
}

// The floor is at most a share of what was measured: of 1 us nine tenths, which scale; the body of
// a tenth is moved.
TEST(Residual, AnotherGpuHasItsOwnFloor) {
  EXPECT_NEAR(carried_us(1, {2, 8, 1}, {4, 4, 1}, 0.9), 1.8 + 0.05, 1e-12);
}

}  // namespace
}  // namespace tandem
