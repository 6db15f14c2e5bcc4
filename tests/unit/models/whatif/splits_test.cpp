// Parts of split sums against the shapes of partial sums that compiled H200 captures show.
#include "models/whatif/compile/inductor/splits.h"

#include <gtest/gtest.h>

#include "tests/gpus_for_tests.h"

namespace tandem {
namespace {

using test::gpu;

// ResNeXt-50 at batch 32 in the order of channels: partial sums [1,128,1,1,7] of 128 channels of
// 32 x 56 x 56 pixels and [1,256,1,1,4] of 256; 512 channels are one kernel. U-Net: [1,32,1,1,32].
TEST(Splits, OfNeighboursAreThoseOfTheCaptures) {
  EXPECT_EQ(inner_parts(gpu(), {128, 100352}), 7);
  EXPECT_EQ(inner_parts(gpu(), {256, 100352}), 4);
  EXPECT_EQ(inner_parts(gpu(), {512, 25088}), 1);
  EXPECT_EQ(inner_parts(gpu(), {32, 262144}), 32);
  EXPECT_EQ(inner_parts(gpu(), {1024, 1568}), 1);
}

// ResNet-50 with channels last: 512 parts of 256 channels of 100352 pixels, 196 of 512 channels of
// 25088, 784 of 64 channels of 100352. DistilBERT: 128 parts of 16384 rows of 768. ViT: 25 of 3152.
TEST(Splits, OfRowsAreThoseOfTheCaptures) {
  EXPECT_EQ(outer_parts(gpu(), {256, 100352}), 512);
  EXPECT_EQ(outer_parts(gpu(), {512, 25088}), 196);
  EXPECT_EQ(outer_parts(gpu(), {64, 100352}), 784);
  EXPECT_EQ(outer_parts(gpu(), {768, 16384}), 128);
  EXPECT_EQ(outer_parts(gpu(), {768, 3152}), 25);
  EXPECT_EQ(outer_parts(gpu(), {768, 32}), 1);
  EXPECT_EQ(outer_parts(gpu(), {50257, 2048}), 1);
}

// DistilBERT's 16384 rows of 768 take the sums along, BERT's 2048 and the transformer's 4096 of 512
// do not.
TEST(Splits, ManyRowsTakeTheSumsAlong) {
  EXPECT_TRUE(sums_along_rows(16384, 768));
  EXPECT_FALSE(sums_along_rows(2048, 768));
  EXPECT_FALSE(sums_along_rows(4096, 512));
}

// 7 x 7 pixels of a squeeze, not 14 x 14.
TEST(Splits, AFewRowsStayInOneBlock) {
  EXPECT_TRUE(holds_columns({64 * 1152, 49}));
  EXPECT_FALSE(holds_columns({64 * 1152, 196}));
}

}  // namespace
}  // namespace tandem
