// Kernels that walk over images, against what an H200 takes for them alone and in captures.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/workloads/lowered_for_tests.h"

namespace tandem {
namespace {

using test::in_channels_last;
using test::row_major;

using LoweredImages = test::LoweredOps;

// 1024 planes are 1024 steps of 375 cycles, 194 us, besides the bytes: measured 201 us for 28 x 28
// pixels, 423 for 224 x 224. With channels last 12.8 million elements take 117 us.
TEST_F(LoweredImages, InterpolationGoesOverAllPlanesOrTakesAnElementAThread) {
  const auto us = [&](const TensorShape& in, const TensorShape& out, Phase phase) {
    const bool back = phase == Phase::backward;
    const auto kernels =
        lower(back ? "aten::upsample_bilinear2d_backward" : "aten::upsample_bilinear2d", {in},
              {out}, phase);
    EXPECT_EQ(kernels.size(), back ? 2U : 1U);  // the gradient is added to zeros
    return kernels.empty() ? 0 : kernels.back().duration_us;
  };
  const auto forward = Phase::forward, backward = Phase::backward;
  EXPECT_NEAR(us(row_major({16, 64, 14, 14}), row_major({16, 64, 28, 28}), forward), 201, 20);
  EXPECT_NEAR(us(row_major({16, 64, 112, 112}), row_major({16, 64, 224, 224}), forward), 423, 40);
  EXPECT_NEAR(us(in_channels_last({16, 256, 28, 28}), in_channels_last({16, 256, 56, 56}), forward),
              117, 12);
  // As many neighbours add to one place as the image grew by: 145, 295 and 713 us.
  const TensorShape large = row_major({16, 256, 56, 56});
  EXPECT_NEAR(us(large, row_major({16, 256, 28, 28}), backward), 145, 15);
  EXPECT_NEAR(us(large, row_major({16, 256, 14, 14}), backward), 295, 30);
  EXPECT_NEAR(
      us(in_channels_last({16, 256, 56, 56}), in_channels_last({16, 256, 28, 28}), backward), 112,
      11);
}

// Windows of 2 x 2 side by side: each of 96 images is cut by a kernel of its own, 256 windows of
// 128 channels by 32 blocks in 3.5 us; put together they take divisions, 12.6 million elements 309
// us.
TEST_F(LoweredImages, ImagesAreCutIntoWindowsOneByOne) {
  const TensorShape images = row_major({96, 128, 32, 32}), columns = row_major({96, 512, 256});
  const std::vector<std::int64_t> window{2, 2};
  const auto cut = lower_with("aten::im2col", {images}, {window}, {columns});
  ASSERT_EQ(cut.size(), 96U);
  EXPECT_EQ(cut[0].geometry.grid[0], 32U);
  EXPECT_NEAR(cut[0].duration_us, 3.5, 0.9);
  const auto folded = lower("aten::col2im", {columns}, {images});
  ASSERT_EQ(folded.size(), 1U);
  EXPECT_NEAR(folded[0].duration_us, 309, 15);
}

// 3072 lines of 256 places are 3072 steps of 359 cycles at 1980 MHz, 557 us, where the L2 of 63 MB
// holds all (4.7 MB); 9216 of 1024, 57 MB, are steps of 759 cycles: 3533 us, 3376 measured.
TEST_F(LoweredImages, InterpolatedLinesWaitForTheL2OrForMemory) {
  const auto us = [&](const TensorShape& in, const TensorShape& out, Phase phase) {
    const bool back = phase == Phase::backward;
    const auto kernels = lower(
        back ? "aten::upsample_linear1d_backward" : "aten::upsample_linear1d", {in}, {out}, phase);
    EXPECT_EQ(kernels.size(), back ? 2U : 1U);
    return kernels.empty() ? 0 : kernels.back().duration_us;
  };
  const TensorShape few = row_major({16, 192, 128}), few_twice = row_major({16, 192, 256});
  const TensorShape many = row_major({64, 144, 512}), many_twice = row_major({64, 144, 1024});
  EXPECT_NEAR(us(few, few_twice, Phase::forward), 557, 12);
  EXPECT_NEAR(us(few_twice, few, Phase::backward), 566, 12);
  EXPECT_NEAR(us(many, many_twice, Phase::forward), 3376, 200);
  EXPECT_NEAR(us(many_twice, many, Phase::backward), 3398, 250);
}

// Bicubic: 768 planes of 24 x 24 places, which are one block, are 768 steps of 800 cycles: 310 us,
// 231 measured; of 28 x 28 places 0.41 us a plane. Backward each step adds to 16 places: 1455 us.
// Both begin with zeros.
TEST_F(LoweredImages, CubicInterpolationGoesOverAllPlanes) {
  const TensorShape small = row_major({1, 768, 14, 14}), large = row_major({1, 768, 24, 24});
  const auto forward = lower("aten::upsample_bicubic2d", {small}, {large});
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_NEAR(forward[1].duration_us, 768 * 800 / 1980.0, 4);
  const auto backward =
      lower("aten::upsample_bicubic2d_backward", {large}, {small}, Phase::backward);
  ASSERT_EQ(backward.size(), 2U);
  EXPECT_NEAR(backward[1].duration_us, 1455, 300);
}

// The nearest pixel: measured 41.7 us for 12.8 million elements, 83 with channels last. Backward a
// thread has a place of every image: 64 images of 64 x 14 x 14 places are 64 steps of 1350 cycles,
// 43.6 us (43.8 measured).
TEST_F(LoweredImages, NearestPixelsTakeAnElementAThreadAndGradientsAPlaceOfAllImages) {
  const auto us = [&](const char* op, const TensorShape& in, const TensorShape& out, Phase phase) {
    const auto kernels = lower(op, {in}, {out}, phase);
    EXPECT_EQ(kernels.size(), 1U);
    return kernels.empty() ? 0 : kernels[0].duration_us;
  };
  const char* grows = "aten::upsample_nearest2d";
  const char* back = "aten::upsample_nearest2d_backward";
  const auto forward = Phase::forward, backward = Phase::backward;
  EXPECT_NEAR(us(grows, row_major({16, 256, 28, 28}), row_major({16, 256, 56, 56}), forward), 41.7,
              10);
  EXPECT_NEAR(
      us(grows, in_channels_last({16, 256, 28, 28}), in_channels_last({16, 256, 56, 56}), forward),
      83, 10);
  EXPECT_NEAR(us(back, row_major({64, 64, 28, 28}), row_major({64, 64, 14, 14}), backward), 43.8,
              6);
}

// 25600 points of 32 channels are 100 blocks, fewer than SMs: 32 steps of 400 cycles are 6.5 us;
// 348160 are 10.3 blocks an SM of 190 cycles a step: 32 us, besides what they move (41 to 54 us
// measured). Images whose corners are pixels are the library's (3.6 to 5.1 us), unless they have
// more than 1024 channels.
TEST_F(LoweredImages, SampledImagesAreWalkedChannelByChannel) {
  const auto sampled = [&](std::int64_t points, bool corners, std::int64_t channels = 32) {
    return lower_with(
        "aten::grid_sampler_2d", {row_major({64, channels, 8, 8}), row_major({64, points, 4, 2})},
        {std::int64_t{0}, std::int64_t{0}, corners}, {row_major({64, channels, points, 4})});
  };
  const auto few = sampled(100, false), many = sampled(1360, false), library = sampled(100, true);
  ASSERT_EQ(few.size() + many.size() + library.size(), 3U);
  EXPECT_NEAR(few[0].duration_us, 8.06, 1.5);
  EXPECT_EQ(few[0].geometry.grid[0], 100U);
  EXPECT_NEAR(many[0].duration_us, 47, 7);
  EXPECT_NE(library[0].name.find("cudnn"), std::string::npos);
  EXPECT_NEAR(library[0].duration_us, 4.3, 1);
  EXPECT_EQ(sampled(100, true, 1025).at(0).name.find("cudnn"), std::string::npos);
}

// Backward the points' channels are added to zeros: 20 and 36 us measured for 25600 points.
TEST_F(LoweredImages, GradientsOfSampledImagesAreAddedToZeros) {
  const TensorShape image = row_major({64, 32, 8, 8}), points = row_major({64, 100, 4, 2});
  const auto kernels =
      lower_with("aten::grid_sampler_2d_backward", {row_major({64, 32, 100, 4}), image, points},
                 {std::int64_t{0}, std::int64_t{0}, false}, {image, points}, Phase::backward);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_NE(kernels[0].name.find("FillFunctor"), std::string::npos);
  EXPECT_NEAR(kernels[1].duration_us, 28, 8);
}

// Norms of the last dimension: 8 blocks of 16 columns walk over 768 x 48 rows of 17.5 cycles.
TEST_F(LoweredImages, WeightNormsOfTheLastDimensionWalkOverRows) {
  const TensorShape weights = row_major({768, 48, 128}), norms = row_major({1, 1, 128});
  const auto us = [&](std::int64_t dim) {
    const auto kernels =
        lower_with("aten::_weight_norm_interface", {weights, norms}, {dim}, {weights, norms});
    EXPECT_EQ(kernels.size(), 1U);
    return kernels.empty() ? 0 : kernels[0].duration_us;
  };
  EXPECT_NEAR(us(2), 768 * 48 * 17.5 / 1980, 5);
  EXPECT_LT(us(0), 40);
}

// A window of 128 x 128 places is 16384 steps of 160 cycles: 1.3 ms for each of 16 images, of which
// three channels have nine windows each (1.1 to 1.2 ms measured).
TEST_F(LoweredImages, LargeWindowsAreGoneThroughPlaceByPlace) {
  const std::vector<std::int64_t> window{128, 128};
  const auto cut = lower_with("aten::im2col", {row_major({16, 3, 256, 256})}, {window},
                              {row_major({16, 3 * 128 * 128, 9})});
  ASSERT_EQ(cut.size(), 16U);
  EXPECT_NEAR(cut[0].duration_us, 1324, 30);
}

// 395 cycles for 256 elements: 47040 blocks of 132 SMs at 1980 MHz are 71 us (73 measured).
TEST_F(LoweredImages, ReflectedEdgesTakeLanes) {
  const TensorShape inner = row_major({12, 16, 192, 320}), padded = row_major({12, 16, 194, 322});
  const auto forward = lower("aten::reflection_pad2d", {inner}, {padded});
  ASSERT_EQ(forward.size(), 1U);
  EXPECT_NEAR(forward[0].duration_us, 73, 8);
  const auto backward =
      lower("aten::reflection_pad2d_backward", {padded, inner}, {inner}, Phase::backward);
  ASSERT_EQ(backward.size(), 2U);
  EXPECT_NEAR(backward[1].duration_us, 75, 8);
}

}  // namespace
}  // namespace tandem
