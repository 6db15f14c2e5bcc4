// Passes through the same layers.
#include "models/step/memory/passes.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

TensorShape of(std::int64_t rows, std::int64_t columns) {
  TensorShape t;
  t.rank = 2;
  t.dims[0] = rows, t.dims[1] = columns;
  return t;
}

LayerUse words(std::int64_t width = 16) { return {true, false, {of(1000, width)}}; }
LayerUse linear(std::int64_t rows = 16) { return {false, false, {of(rows, 16)}}; }
LayerUse cell(std::int64_t inputs = 16) { return {false, true, {of(64, inputs), of(64, 16)}}; }

TEST(Passes, WordsThatAreWrittenOneByOneRepeatTheModel) {
  const LayerUse pass[] = {words(), linear(), linear(64), linear(1000)};
  std::vector<LayerUse> layers;
  for (int word = 0; word < 3; ++word) layers.insert(layers.end(), pass, pass + 4);
  EXPECT_EQ(layers_before_repeats(layers), 4U);
}

TEST(Passes, AnEncoderRunsOnceBeforeThem) {
  std::vector<LayerUse> layers{words(), linear(32), linear(32)};
  for (int word = 0; word < 2; ++word) layers.insert(layers.end(), {words(), linear(), linear(64)});
  EXPECT_EQ(layers_before_repeats(layers), 6U);
}

TEST(Passes, LayersOfOneSizeAreNoPasses) {
  const std::vector<LayerUse> equal{words(), linear(), linear(), linear(), linear()};
  EXPECT_EQ(layers_before_repeats(equal), 5U);
  const std::vector<LayerUse> tables{words(), words(), words(), linear(), linear()};
  EXPECT_EQ(layers_before_repeats(tables), 5U);
  const std::vector<LayerUse> features{words(), words(8), words(), words(8)};
  EXPECT_EQ(layers_before_repeats(features), 4U);
  EXPECT_EQ(layers_before_repeats({}), 0U);
}

// The second pass ends before its last layer.
TEST(Passes, APassThatIsNotWholeIsNone) {
  const std::vector<LayerUse> layers{words(), linear(), linear(64), words(), linear()};
  EXPECT_EQ(layers_before_repeats(layers), 5U);
}

// Two layers before; a cell, a layer and another cell in each of three steps; one layer behind.
TEST(Passes, StepsOfALoopOverCellsRepeatTheFirst) {
  std::vector<LayerUse> layers{linear(), linear(32)};
  for (int step = 0; step < 3; ++step) layers.insert(layers.end(), {cell(), linear(), cell(32)});
  layers.push_back(linear(1000));
  std::vector<bool> again(5, false);
  again.insert(again.end(), 6, true);
  again.push_back(false);
  EXPECT_EQ(repeated_steps(layers), again);
}

TEST(Passes, CellsOfOtherSizesAreNoSteps) {
  const std::vector<LayerUse> layers{cell(8), cell(16), cell(32), linear()};
  EXPECT_EQ(repeated_steps(layers), std::vector<bool>(4, false));
}

}  // namespace
}  // namespace tandem
