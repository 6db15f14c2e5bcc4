// PyTorch's rules for the sizes of launches, worked out by hand.
#include "models/kernel/launch_rules.h"

#include <gtest/gtest.h>

#include "tests/gpus_for_tests.h"

namespace tandem {
namespace {

TEST(LaunchRules, BlocksShareAResultOfManyValues) {
  EXPECT_EQ(blocks_sharing_result(255, 1, 528), 1);     // a thread adds up so many itself
  EXPECT_EQ(blocks_sharing_result(4096, 600, 528), 1);  // the results fill the GPU
  EXPECT_EQ(blocks_sharing_result(512, 6, 528),
            32);  // 512 / 16 values a thread: 528 / 6 do not fit
  EXPECT_EQ(blocks_sharing_result(4096, 66, 528),
            16);  // 4096 / 256 at least, though 528 / 66 fill it
}

TEST(LaunchRules, ManyRowsOfFewColumnsAreSummedInParts) {
  EXPECT_TRUE(sums_rows_in_parts(test::gpu(), 70000, 768));
  EXPECT_FALSE(sums_rows_in_parts(test::gpu(), 65536, 768));   // not that many
  EXPECT_FALSE(sums_rows_in_parts(test::gpu(), 70000, 4096));  // 128 of 132 SMs have columns
}

TEST(LaunchRules, BlocksOfUnknownSizeAreNone) {
  EXPECT_EQ(ceil_div(7, 2), 4);
  EXPECT_EQ(ceil_div(7, 0), 0);
  EXPECT_EQ(round_up(7, 4), 8);
}

}  // namespace
}  // namespace tandem
