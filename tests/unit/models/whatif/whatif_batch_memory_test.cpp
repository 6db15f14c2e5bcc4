#include <gtest/gtest.h>

#include "models/whatif/batch/peak_memory.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

using test::batch_gpu;
using test::batch_law;
using test::BatchTraceMaker;

constexpr std::int64_t parameters = 4096 * 1024 + 1024;

PeakMemory memory(const std::vector<MemoryPoint>& points) {
  static const BatchTraceMaker made(64);
  const PeakMemory m = peak_memory(made.trace, made.links, 64, batch_law());
  return points.empty() ? m : through_points(m, points, "made.json");
}

TEST(WhatifBatchMemory, ParametersAreCountedOnceAndTheOptimizerIsRecognised) {
  const PeakMemory m = memory({});
  EXPECT_EQ(m.parameters, parameters);
  EXPECT_TRUE(m.training);
  EXPECT_EQ(m.optimizer_states, 0);  // plain SGD: parameters and gradients
  // Without recorded types a value counts one byte.
  EXPECT_NEAR(m.fixed_bytes, 2.0 * parameters + batch_law().memory_workspace_bytes, 1);
  EXPECT_GT(m.item_bytes, 0);
  EXPECT_EQ(m.points, 0U);
}

TEST(WhatifBatchMemory, AMeasurementLiesOnTheLine) {
  const PeakMemory shapes = memory({});
  for (const double peak : {0.1 * shapes.fixed_bytes, shapes.fixed_bytes + 64e5, 64e9}) {
    const PeakMemory m = memory({{64, peak}});
    EXPECT_NEAR(peak_bytes(m, 64), peak, 1e-6 * peak);
    EXPECT_GE(m.item_bytes, 0);
    EXPECT_GE(m.fixed_bytes, 0);
    EXPECT_LT(m.uncertainty, shapes.uncertainty);
  }
}

// fixed 100 and items 10 x 30: the measured 600 say (600 - 100) / 10 = 50 an item. The part that
// does not grow is 10 an item, so the weight of 50 is 30^2 / (30^2 + 10^2) = 0.9: 48 an item.
TEST(WhatifBatchMemory, ThePartThatIsSmallerIsTheSurerOne) {
  PeakMemory live;
  live.fixed_bytes = 100;
  live.item_bytes = 30;
  const MemoryPoint point{10, 600};
  const PeakMemory m = through_points(live, {&point, 1}, "made.json");
  EXPECT_NEAR(m.item_bytes, 48, 1e-9);
  EXPECT_NEAR(m.fixed_bytes, 120, 1e-9);
}

TEST(WhatifBatchMemory, TwoMeasurementsGiveTheLineThroughBoth) {
  const PeakMemory m = memory({{64, 3e9}, {256, 11e9}});
  EXPECT_NEAR(peak_bytes(m, 64), 3e9, 1);
  EXPECT_NEAR(peak_bytes(m, 256), 11e9, 1);
}

TEST(WhatifBatchMemory, TheLargestBatchFitsAndOneMoreDoesNot) {
  const PeakMemory m = memory({{64, 3e9}, {256, 11e9}});
  const std::int64_t largest = largest_batch(m, batch_gpu(), batch_law());
  EXPECT_GT(largest, 256);
  EXPECT_TRUE(fits(m, largest, batch_gpu(), batch_law()));
  EXPECT_FALSE(fits(m, largest + 2, batch_gpu(), batch_law()));
}

TEST(WhatifBatchMemory, ContradictingMeasurementsAreRefused) {
  EXPECT_THROW(memory({{64, 3e9}, {64, 4e9}}), InputError);
  EXPECT_THROW(memory({{64, -1}}), InputError);
  EXPECT_THROW(memory({{0, 1e9}}), InputError);
}

/// Inference of one layer; under autocast its weight is copied in half precision.
PeakMemory inference_memory(bool autocast) {
  test::TraceMaker m;
  m.step(1, 0, 1000);
  m.operands(m.op("aten::linear", 10, 40),
             {"[[64,4096],[1024,4096],[1024]]", R"(["float","float","float"])", "", ""});
  if (autocast) {
    m.operands(m.op("aten::_to_copy", 12, 10),
               {"[[1024,4096],[]]", R"(["float","Scalar"])", "", ""});
    m.launch(15, 2, 1);
    m.kernel(100, 5, 1);
  }
  m.operands(m.op("aten::addmm", 30, 15),
             {"[[1024],[64,4096],[4096,1024],[],[]]",
              R"(["float","float","float","Scalar","Scalar"])", "", ""});
  m.launch(35, 2, 2);
  m.kernel(200, 20, 2);
  const Links links = link_trace(m.trace);
  return peak_memory(m.trace, links, 64, batch_law());
}

// 1024 x 4096 weights of 4 bytes and the bias; their copies have 2 bytes.
TEST(WhatifBatchMemory, InferenceKeepsTheCopiesThatAutocastMakes) {
  const PeakMemory plain = inference_memory(false), copied = inference_memory(true);
  EXPECT_FALSE(plain.training);
  EXPECT_NEAR(plain.fixed_bytes, 4.0 * parameters + batch_law().memory_workspace_bytes, 1);
  EXPECT_NEAR(copied.fixed_bytes - plain.fixed_bytes, 2.0 * 1024 * 4096, 1);
}

}  // namespace
}  // namespace tandem
