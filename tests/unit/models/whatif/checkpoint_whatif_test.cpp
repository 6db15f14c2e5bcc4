// Two layers that are alike, of a product, a tanh, a product and a skip, that run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/step/memory/step_memory.h"
#include "models/whatif/checkpoint/checkpointed.h"
#include "models/whatif/checkpoint/layer_ranges.h"
#include "models/whatif/edit/repeated_layers.h"
#include "sim/predict/configs.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;

constexpr std::string_view layer_float = R"(["float"])", layer_floats = R"(["float","float"])";
const std::string node_of = "autograd::engine::evaluate_function: ";

void forward_layer(FlowMaker& m, std::int64_t number) {
  m.sequence = number;
  m.op("aten::mm", "[[8,64],[64,32]]", layer_floats);
  m.sequence = number + 1;
  m.op("aten::tanh", "[[8,32]]", layer_float);
  m.sequence = number + 2;
  m.op("aten::mm", "[[8,32],[32,64]]", layer_floats);
  m.sequence = number + 3;
  m.op("aten::add", "[[8,64],[8,64]]", layer_floats);
}

/// Five operations.
void backward_layer(FlowMaker& m, std::int64_t number) {
  m.sequence = number + 2;
  m.op(node_of + "MmBackward0>aten::mm", "[[8,64],[64,32]]", layer_floats);
  m.within_last = true;
  m.op(node_of + "MmBackward0>aten::mm", "[[32,8],[8,64]]", layer_floats);
  m.within_last = false;
  m.sequence = -1;
  m.idle("torch::autograd::AccumulateGrad", "[[32,64]]", layer_float);
  m.sequence = number + 1;
  m.op(node_of + "TanhBackward0>aten::tanh_backward", "[[8,32],[8,32]]", layer_floats);
  m.sequence = number;
  m.op(node_of + "MmBackward0>aten::mm", "[[8,32],[32,64]]", layer_floats);
  m.within_last = true;
  m.op(node_of + "MmBackward0>aten::mm", "[[64,8],[8,32]]", layer_floats);
  m.within_last = false;
  m.sequence = -1;
  m.idle("torch::autograd::AccumulateGrad", "[[64,32]]", layer_float);
}

Step layers(int count) {
  FlowMaker m;
  for (int k = 0; k < count; ++k) forward_layer(m, 10 * k);
  m.thread = 1;
  for (int k = count; k-- > 0;) backward_layer(m, 10 * k);
  m.thread = 0;
  m.sequence = -1;
  m.op("aten::_foreach_add_", "[]", "[]");
  return m.step();
}

struct CheckpointBench {
  Configs configs = load_configs(source_path("configs"), "default");
  CheckpointReport report;
  Step with(Step step) {
    return with_checkpoints(std::move(step), {configs.repeats, configs.host}, report);
  }
  std::string error(Step step) {
    try {
      with(std::move(step));
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }
};

TEST(CheckpointWhatIf, LayersBeginWhereOperationsRepeat) {
  const Step step = layers(3);
  const LayerRanges ranges = layer_ranges(step, dataflow(step));
  ASSERT_EQ(ranges.layers.size(), 3U);
  for (std::uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(ranges.layers[k].first, 4 * k);
    EXPECT_EQ(ranges.layers[k].end, 4 * k + 4);
  }
  EXPECT_EQ(ranges.unlike, 0);
}

// The gradient of the second product reads its operands, of that of the skip nothing: the first
// product and the tanh run again, in the node of the second one, and no more.
TEST(CheckpointWhatIf, ALayerRunsAgainAsFarAsItsGradientsNeedIt) {
  CheckpointBench bench;
  const Step traced = layers(3);
  const Step step = bench.with(traced);
  EXPECT_EQ(bench.report.layers, 3);
  EXPECT_EQ(bench.report.kernels, 6);
  EXPECT_DOUBLE_EQ(bench.report.us, 6 * 8.0);  // each kernel lasts 8 us
  ASSERT_EQ(step.plan.works.size(), traced.plan.works.size() + 6);
  const Dataflow flow = dataflow(step);
  std::vector<std::uint32_t> repeated;
  for (const FlowOp& op : flow.ops) {
    if (op.repeats != no_row) repeated.push_back(op.repeats);
  }
  EXPECT_EQ(repeated, (std::vector<std::uint32_t>{8, 9, 4, 5, 0, 1}));
  // The last layer's, right behind the forward pass, on the thread of the gradients.
  const DeviceWork& again = step.plan.works[12];
  EXPECT_EQ(step.plan.items[again.item].thread, step.plan.items[step.plan.works[14].item].thread);
  EXPECT_NE(step.plan.items[again.item].thread, step.plan.items[0].thread);
}

// of 8 x 32 floats, 1024 bytes each, products and tanh of three layers are kept until the backward
// pass reads them; once computed again those of one layer are there at a time.
TEST(CheckpointWhatIf, KeepsTheInputsOfLayersAlone) {
  CheckpointBench bench;
  const Step traced = layers(3);
  const auto most = [](const Step& step) {
    double bytes = 0;
    for (const MemoryMoment& m : live_tensors(step, 8)) bytes = std::max(bytes, m.bytes());
    return bytes;
  };
  const double before = most(traced);
  EXPECT_LE(most(bench.with(traced)), before - 2 * 1024);
}

TEST(CheckpointWhatIf, TellsWhatHasNoLayersToComputeAgain) {
  CheckpointBench bench;
  EXPECT_NE(bench.error(layers(1)).find("no layers whose parameters' shapes repeat"),
            std::string::npos);
  FlowMaker m;
  forward_layer(m, 1);
  EXPECT_NE(bench.error(m.step()).find("no backward pass"), std::string::npos);
  EXPECT_NE(bench.error(bench.with(layers(2))).find("computed again already"), std::string::npos);
}

// Filters of one pixel mix channels as matrices do; filters of several pixels of all channels make
// a block of convolutions, of which the first ones of a stage are unlike the others.
TEST(CheckpointWhatIf, BlocksOfFiltersOfOnePixelAreLayers) {
  const std::vector<std::vector<std::int64_t>> block{
      {80, 1, 7, 7}, {320, 80, 1, 1}, {80, 320, 1, 1}};
  std::vector<std::vector<std::int64_t>> shapes = block;
  shapes.insert(shapes.end(), block.begin(), block.end());
  EXPECT_TRUE(repeated_layers(shapes).empty());
  ASSERT_EQ(repeated_blocks(shapes).size(), 1U);
  EXPECT_EQ(repeated_blocks(shapes)[0].count, 2U);
  for (auto& dims : shapes) {
    if (dims[2] == 7) dims = {80, 80, 3, 3};
  }
  EXPECT_TRUE(repeated_blocks(shapes).empty());
}

}  // namespace
}  // namespace tandem
