// Layers without a trace, by what the nearest measured ones take.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/workloads/lowered_for_tests.h"

namespace tandem {
namespace {

using test::row_major;

class LayerByMeasurement : public test::LoweredOps {
 protected:
  /// Forward, 64 channels in and out, windows of three, of 56 x 56 images.
  std::vector<LoweredKernel> layer(std::int64_t images, const std::string& gpu = "h200_sxm") {
    const TensorShape image = row_major({images, 64, 56, 56});
    const std::vector<std::int64_t> one{1, 1};
    return lower_with("aten::cudnn_convolution", {image, row_major({64, 64, 3, 3})},
                      {one, one, one, std::int64_t{1}}, {image}, Phase::forward, gpu);
  }

  double us(std::int64_t images, const std::string& gpu = "h200_sxm") {
    double sum = 0;
    for (const LoweredKernel& k : layer(images, gpu)) sum += k.duration_us;
    return sum;
  }

  /// A table of that layer alone, of 32 images.
  MeasuredLayers table(double us, LayerClass run) const {
    MeasuredLayers out = configs_.layers;
    out.blur = 0.25;
    out.law_distance = 6;
    const LayerShape shape{false, Pass::forward, 32, 64, 64, 1, 56 * 56, 3, 1};
    out.layers = LayerTable({{shape, {run, us, 0}, {run, us, 0}}});
    return out;
  }

  const LayerClass between_transforms_{LayerPath::implicit, false, true};
};

// A layer that took twice what the law says counts 1/0.25^2 = 16 at no distance, the law itself
// 1/6.25^2 = 0.0256 at its distance of 6: 2^(16 / 16.0256) = 1.998 times the law.
TEST_F(LayerByMeasurement, TakesWhatTheSameLayerTook) {
  const double law = us(32);
  const MeasuredLayers measured = table(2 * law, between_transforms_);
  layers_ = &measured;
  EXPECT_NEAR(us(32), 1.998 * law, 0.002 * law);
  // Four times the images are two octaves, 2^2 = 4: 1/4.25^2 = 0.0554 for the layer, so that
  // 2^(0.0554 / 0.0810) = 1.607 times the law are left.
  layers_ = nullptr;
  const double law_of_more = us(128);
  layers_ = &measured;
  EXPECT_NEAR(us(128), 1.607 * law_of_more, 0.002 * law_of_more);
}

// What it takes over the law is carried over to a GPU of the same generation, whose law is slower.
TEST_F(LayerByMeasurement, CarriesOverToGpusOfItsGeneration) {
  const double law = us(32, "h100_pcie"), older = us(32, "v100_sxm2_16gb");
  const MeasuredLayers measured = table(2 * us(32), between_transforms_);
  layers_ = &measured;
  EXPECT_NEAR(us(32, "h100_pcie"), 1.998 * law, 0.002 * law);
  EXPECT_EQ(us(32, "v100_sxm2_16gb"), older);
}

TEST_F(LayerByMeasurement, IsRunAsTheNearestOneWas) {
  const auto transforms = [&] {
    int out = 0;
    for (const LoweredKernel& k : layer(32)) out += k.name.find("Nhwc") != std::string::npos;
    return out;
  };
  EXPECT_GT(transforms(), 0);
  const MeasuredLayers measured = table(300, {LayerPath::lanes});
  layers_ = &measured;
  EXPECT_EQ(transforms(), 0);
  EXPECT_NEAR(us(32), 300, 3);
}

TEST_F(LayerByMeasurement, IsLeftToTheLawWhereAllAreFar) {
  const double law = us(32);
  MeasuredLayers measured = table(2 * law, between_transforms_);
  measured.layers = LayerTable({{{false, Pass::forward, 1, 1024, 1024, 1, 16, 3, 1},
                                 {between_transforms_, 9 * law, 0},
                                 {between_transforms_, 9 * law, 0}}});
  layers_ = &measured;
  EXPECT_EQ(us(32), law);
}

}  // namespace
}  // namespace tandem
