// Convolution layers at another batch, where measured layers tell how the library runs them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/whatif/batch/layers.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

constexpr std::string_view lanes =
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x32x8_stage3_ffma";

/// Of `images` 56 x 56 images of 64 channels, a layer with windows of 3: one kernel of 8 us.
Step step_of(int images) {
  const std::string dims = "[[" + std::to_string(images) + ",64,56,56],[64,64,3,3],[],[],[],[]]";
  test::FlowMaker m;
  m.op("aten::cudnn_convolution", dims, R"(["float","float","","","",""])",
       R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])", lanes);
  return m.step();
}

MeasuredLayer measured(double images, LayerPath path, double us) {
  MeasuredLayer out;
  out.shape = {false, Pass::forward, images, 64, 64, 1, 56 * 56, 3, 1};
  out.full = {{path}, us, 0};
  out.half = out.full;
  return out;
}

/// Without a floor: times grow as layers do.
MeasuredLayers layers_of(std::vector<MeasuredLayer> layers) {
  MeasuredLayers out;
  out.compute_major = 9;
  out.neighbours = 1;
  out.blur = 0.25;
  out.other_class_distance = 8;
  out.far = 20;
  out.size_power = 1;
  out.unlike_residual = 0.5;
  out.layers = LayerTable(std::move(layers));
  return out;
}

/// Microseconds at batch 128 of what takes 8 at 32 and, as other laws have it, 32 there.
double at_128(const MeasuredLayers& layers, bool retime, std::size_t* switches = nullptr) {
  const Step step = step_of(32);
  Trace resized = step_of(128).trace;
  resized.activities.duration[0] = from_us(32);
  const AlgorithmSwitches found = switch_layers(step, layers, retime, resized);
  if (switches != nullptr) *switches = found.size();
  return to_us(resized.activities.duration[0]);
}

// Measured on FP32 pipes for 16 us at 32 and on tensor cores for 25 at 128. The traced layer takes
// half of what was measured: of another way of running it the root of that is carried over.
TEST(BatchLayers, ALayerThatIsRunAnotherWayTakesWhatThatDoes) {
  const MeasuredLayers layers =
      layers_of({measured(32, LayerPath::lanes, 16), measured(128, LayerPath::implicit, 25)});
  std::size_t switches = 0;
  EXPECT_NEAR(at_128(layers, true, &switches), 25 * std::sqrt(0.5), 1e-3);
  EXPECT_EQ(switches, 1U);
  EXPECT_NEAR(at_128(layers, false, &switches), 32, 1e-6);  // stated alone
  EXPECT_EQ(switches, 1U);
}

// The same way at both batches, four times the images in three times the time: 3 * 8 us.
TEST(BatchLayers, ALayerThatWasMeasuredAtBothBatchesFollowsThem) {
  const MeasuredLayers layers =
      layers_of({measured(32, LayerPath::lanes, 16), measured(128, LayerPath::lanes, 48)});
  std::size_t switches = 0;
  EXPECT_NEAR(at_128(layers, true, &switches), 24, 1e-3);
  EXPECT_EQ(switches, 0U);
}

// Measured at 32 and 512: nearest to 128 is neither, and the way it is run stays.
TEST(BatchLayers, OthersKeepTheirTime) {
  const MeasuredLayers layers =
      layers_of({measured(32, LayerPath::lanes, 16), measured(512, LayerPath::lanes, 300)});
  EXPECT_NEAR(at_128(layers, true), 32, 1e-6);
  EXPECT_NEAR(at_128(layers_of({}), true), 32, 1e-6);
}

}  // namespace
}  // namespace tandem
