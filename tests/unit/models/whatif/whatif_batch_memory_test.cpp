#include <gtest/gtest.h>

#include <string_view>

#include "models/runtime/device_timing.h"
#include "models/runtime/measured_plan.h"
#include "models/step/memory/peak_memory.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

using test::batch_law;
using test::BatchTraceMaker;
using test::TraceMaker;

constexpr std::int64_t parameters = 4096 * 1024 + 1024;

Step step_of(const TraceMaker& made) {
  const HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  const Links links = link_trace(made.trace);
  const DeviceTiming timing(made.trace, links, host);
  const MeasuredPlan measured = measured_plan(made.trace, links, host, timing);
  return cut_step(made.trace, links, step_plan(made.trace, measured, host, Profiler::keep));
}

PeakMemory memory(const std::vector<MemoryPoint>& points) {
  static const PeakMemory live =
      live_memory(step_of(BatchTraceMaker(64)), 64, batch_law().device_memory, 9).value();
  return points.empty() ? live : through_points(live, points, "made.json");
}

TEST(WhatifBatchMemory, ParametersAreCountedOnceAndTheOptimizerIsRecognised) {
  const PeakMemory m = memory({});
  EXPECT_EQ(m.parameters, parameters);
  EXPECT_TRUE(m.training);
  // Plain SGD: parameters alone are kept. Without recorded types a value counts one byte.
  EXPECT_NEAR(m.kept_bytes, 1.0 * parameters + batch_law().device_memory.workspaces(9, 2), 1);
  EXPECT_NEAR(m.update_bytes, parameters, 1);  // their gradients
  EXPECT_GT(peak_bytes(m, 1 << 20), peak_bytes(m, 64));
  EXPECT_EQ(m.points, 0U);
}

TEST(WhatifBatchMemory, AMeasurementLiesOnTheLine) {
  const PeakMemory shapes = memory({});
  for (const double peak : {0.1 * shapes.kept_bytes, shapes.kept_bytes + 64e5, 64e9}) {
    const PeakMemory m = memory({{64, peak}});
    EXPECT_NEAR(peak_bytes(m, 64), peak, 1e-6 * peak);
    EXPECT_GE(peak_bytes(m, 128), peak);
    EXPECT_LE(peak_bytes(m, 32), peak);
    EXPECT_EQ(m.basis, MemoryBasis::recorded);
  }
}

// fixed 100 and items 10 x 30: the measured 600 say (600 - 100) / 10 = 50 an item. The part that
// does not grow is 10 an item, so the weight of 50 is 30^2 / (30^2 + 10^2) = 0.9: 48 an item, and
// 120 do not grow.
TEST(WhatifBatchMemory, ThePartThatIsSmallerIsTheSurerOne) {
  PeakMemory live;
  live.moments = {{100, 30}};
  const MemoryPoint point{10, 600};
  const PeakMemory m = through_points(live, {&point, 1}, "made.json");
  EXPECT_NEAR(peak_bytes(m, 20), 120 + 20 * 48, 1e-9);
}

// The parameter update, 500 at any batch, is the worst at batch 10 (100 + 10 x 30 = 400) and the
// activations are at batch 20 (100 + 20 x 30 = 700). The measured 600 are 100 more, none of which
// grows: 600 and 800.
TEST(WhatifBatchMemory, AnotherMomentIsTheWorstAtAnotherBatch) {
  PeakMemory live;
  live.moments = {{500, 0}, {100, 30}};
  EXPECT_EQ(peak_bytes(live, 10), 500);
  EXPECT_EQ(peak_bytes(live, 20), 700);
  const MemoryPoint point{10, 600};
  const PeakMemory m = through_points(live, {&point, 1}, "made.json");
  EXPECT_NEAR(peak_bytes(m, 10), 600, 1e-9);
  EXPECT_NEAR(peak_bytes(m, 20), 800, 1e-9);
}

TEST(WhatifBatchMemory, TwoMeasurementsGiveTheLineThroughBoth) {
  const PeakMemory m = memory({{64, 3e9}, {256, 11e9}});
  EXPECT_NEAR(peak_bytes(m, 64), 3e9, 1);
  EXPECT_NEAR(peak_bytes(m, 256), 11e9, 1);
}

TEST(WhatifBatchMemory, ContradictingMeasurementsAreRefused) {
  EXPECT_THROW(memory({{64, 3e9}, {64, 4e9}}), InputError);
  EXPECT_THROW(memory({{64, -1}}), InputError);
  EXPECT_THROW(memory({{0, 1e9}}), InputError);
}

/// Inference of one layer.
PeakMemory inference_memory() {
  test::TraceMaker m;
  m.step(1, 0, 1000);
  m.operands(m.op("aten::linear", 10, 40),
             {"[[64,4096],[1024,4096],[1024]]", R"(["float","float","float"])", "", ""});
  m.operands(m.op("aten::addmm", 30, 15),
             {"[[1024],[64,4096],[4096,1024],[],[]]",
              R"(["float","float","float","Scalar","Scalar"])", "", ""});
  m.launch(35, 2, 2);
  m.kernel(200, 20, 2);
  return live_memory(step_of(m), 64, batch_law().device_memory, 9).value();
}

// 1024 x 4096 weights of 4 bytes and the bias are kept.
TEST(WhatifBatchMemory, InferenceKeepsParametersAlone) {
  const PeakMemory plain = inference_memory();
  EXPECT_FALSE(plain.training);
  EXPECT_NEAR(plain.kept_bytes, 4.0 * parameters + batch_law().device_memory.workspaces(9, 1), 1);
  EXPECT_EQ(plain.update_bytes, 0);
}

/// An inference step of two layers of one shape under autocast; `again`: the second one converts
/// weights, too.
Step two_layers(bool again) {
  TraceMaker m;
  m.step(1, 0, 1000);
  for (int layer = 0; layer < 2; ++layer) {
    const double at = 10 + 100.0 * layer;
    const auto op = [&](std::string_view name, double begin, double us, std::string_view dims,
                        std::string_view types) {
      m.operands(m.op(name, at + begin, us, 0), {dims, types, "", ""});
    };
    op("aten::linear", 0, 90, "[[8,512],[512,512],[512]]", R"(["float","float","float"])");
    if (layer == 0 || again) {
      op("aten::_to_copy", 1, 4, "[[512],[],[],[],[],[],[]]",
         R"(["float","Scalar","","","","Scalar",""])");
      op("aten::_to_copy", 11, 4, "[[512,512],[],[],[],[],[],[]]",
         R"(["float","Scalar","","","","Scalar",""])");
    }
    op("aten::linear", 20, 60, "[[8,512],[512,512],[512]]",
       R"(["c10::Half","c10::Half","c10::Half"])");
    op("aten::addmm", 22, 50, "[[512],[8,512],[512,512],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])");
    m.launch(at + 30, 4, 1 + layer);
    m.kernel(at + 40, 20, 1 + layer);
  }
  return step_of(m);
}

// Autocast keeps the copy of a weight: who computes with a converted weight and converts none has
// read one that was converted before. 512 x 512 weights and 512 of a bias, once or twice.
TEST(WhatifBatchMemory, UnderAutocastALayerThatConvertsNoWeightSharesIt) {
  constexpr std::int64_t layer = 512 * 512 + 512;
  EXPECT_EQ(live_memory(two_layers(true), 8, batch_law().device_memory, 9).value().parameters,
            2 * layer);
  EXPECT_EQ(live_memory(two_layers(false), 8, batch_law().device_memory, 9).value().parameters,
            layer);
}

/// A step of 2 ms of operations one after the other, each with a kernel.
class StepMaker {
 public:
  StepMaker() { maker.step(1, 0, 2000); }
  void op(std::string_view name, std::string_view dims, std::string_view types) {
    const double at = 10 + 100.0 * n_++;
    maker.operands(maker.op(name, at, 90, 0), {dims, types, "", ""});
    maker.launch(at + 30, 4, n_);
    maker.kernel(at + 40, 20, n_);
  }
  Step step() const { return step_of(maker); }

  TraceMaker maker;

 private:
  int n_ = 0;
};

/// A training step of a decoder of 100 words: a table, and a layer of its shape. `tied`: their
/// gradients are added up.
Step decoder(bool tied) {
  StepMaker m;
  m.op("aten::embedding", "[[100,16],[8,4],[],[],[]]",
       R"(["float","long int","Scalar","Scalar","Scalar"])");
  m.op("aten::linear", "[[8,4,16],[100,16],[]]", R"(["float","float",""])");
  m.op("aten::embedding_dense_backward", "[[8,4,16],[8,4],[],[],[]]",
       R"(["float","long int","Scalar","Scalar","Scalar"])");
  if (tied) m.op("aten::add", "[[100,16],[100,16],[]]", R"(["float","float","Scalar"])");
  return m.step();
}

TEST(WhatifBatchMemory, ATableIsSharedIfItsGradientsAreAddedUp) {
  EXPECT_EQ(live_memory(decoder(true), 8, batch_law().device_memory, 9).value().parameters,
            100 * 16);
  EXPECT_EQ(live_memory(decoder(false), 8, batch_law().device_memory, 9).value().parameters,
            2 * 100 * 16);
}

/// A step without gradients that looks up two sequences, and scores words if it `scores`.
Step translator(bool scores) {
  StepMaker m;
  for (int sequence = 0; sequence < 2; ++sequence) {
    m.op("aten::embedding", "[[100,16],[8,4],[],[],[]]",
         R"(["float","long int","Scalar","Scalar","Scalar"])");
    const std::string_view dims = sequence == 0 ? "[[8,4,16],[24,16],[]]" : "[[8,4,16],[32,16],[]]";
    m.op("aten::linear", dims, R"(["float","float",""])");
  }
  if (scores) m.op("aten::linear", "[[8,4,16],[100,16],[]]", R"(["float","float",""])");
  return m.step();
}

// A vocabulary that scores are computed with, too, is one table; two that are only read are two.
TEST(WhatifBatchMemory, AVocabularyIsOneForWhatIsReadAndWritten) {
  const auto parameters = [](bool scores) {
    return live_memory(translator(scores), 8, batch_law().device_memory, 9).value().parameters;
  };
  EXPECT_EQ(parameters(false) - parameters(true), 100 * 16);
}

// The gradient of a convolution's gradient is a convolution whose weight is another gradient: the
// layer's 16 x 8 x 3 x 3 weights are all.
TEST(WhatifBatchMemory, GradientsHaveNoWeights) {
  TraceMaker m;
  m.step(1, 0, 1000);
  const std::string_view types = R"(["float","float"])";
  m.operands(m.op("aten::conv2d", 10, 30, 0), {"[[8,8,32,32],[16,8,3,3]]", types, "", ""});
  m.launch(20, 4, 1);
  m.kernel(30, 20, 1);
  m.op("autograd::engine::evaluate_function: ConvolutionBackwardBackward0", 60, 60, 0);
  m.operands(m.op("aten::conv2d", 70, 30, 0), {"[[8,8,32,32],[16,8,30,30]]", types, "", ""});
  m.launch(80, 4, 2);
  m.kernel(90, 20, 2);
  EXPECT_EQ(live_memory(step_of(m), 8, batch_law().device_memory, 9).value().parameters,
            16 * 8 * 3 * 3);
}

// One weight of 16 x 32, though the product runs another one inside.
TEST(WhatifBatchMemory, AWeightWithoutALayerIsCountedOnce) {
  TraceMaker m;
  m.step(1, 0, 1000);
  const std::string_view types = R"(["float","float"])";
  m.operands(m.op("aten::matmul", 10, 90, 0), {"[[8,4,16],[16,32]]", types, "", ""});
  m.operands(m.op("aten::matmul", 20, 60, 0), {"[[8,4,16],[16,32]]", types, "", ""});
  m.launch(40, 4, 1);
  m.kernel(50, 20, 1);
  EXPECT_EQ(live_memory(step_of(m), 8, batch_law().device_memory, 9).value().parameters, 16 * 32);
}

// Two passes whose gradients are added up reach the same parameters twice, a layer between them.
// Two layers alike in one pass are two.
TEST(WhatifBatchMemory, GradientsThatAreAddedUpCountOnce) {
  const auto parameters_of = [](bool passes) {
    StepMaker m;
    const std::string_view layer = "[[8,32],[32,32],[32]]", types = R"(["float","float","float"])";
    m.op("aten::linear", layer, types);
    if (!passes) m.op("aten::linear", layer, types);
    for (int pass = 0; pass < 2; ++pass) {
      if (pass > 0 && passes) m.op("aten::linear", layer, types);
      m.op("torch::autograd::AccumulateGrad", "[[32]]", R"(["float"])");
      m.op("torch::autograd::AccumulateGrad", "[[32,32]]", R"(["float"])");
    }
    return live_memory(m.step(), 8, batch_law().device_memory, 9).value().parameters;
  };
  EXPECT_EQ(parameters_of(true), 32 * 32 + 32);
  EXPECT_EQ(parameters_of(false), 2 * (32 * 32 + 32));
}

/// A training step of a layer of 16 x 32 and its bias, of which gradients reach the bias alone, if
/// `frozen`; and of three experts in one tensor, which no layer takes.
Step step_with_gradients(bool frozen) {
  StepMaker m;
  m.maker.note("Optimizer.step#AdamW.step", 1500, 100);
  m.op("aten::linear", "[[8,16],[32,16],[32]]", R"(["float","float","float"])");
  m.op("aten::threshold_backward", "[[8,32],[8,32]]", R"(["float","float"])");
  m.op("torch::autograd::AccumulateGrad", "[[32]]", R"(["float"])");
  m.op("torch::autograd::AccumulateGrad", "[[3,64,32]]", R"(["float"])");
  if (!frozen) m.op("torch::autograd::AccumulateGrad", "[[32,16]]", R"(["float"])");
  return m.step();
}

// Parameters are what gradients reach and what layers take beside: 32 of a bias, 3 x 64 x 32 of
// experts, 32 x 16 of a weight. Only what is trained has a gradient and two states of 4 bytes each.
TEST(WhatifBatchMemory, FrozenParametersHaveNoGradientAndNoState) {
  constexpr std::int64_t weight = 32 * 16, rest = 32 + 3 * 64 * 32;
  const double workspace = batch_law().device_memory.workspaces(9, 2);
  const PeakMemory all =
      live_memory(step_with_gradients(false), 8, batch_law().device_memory, 9).value();
  EXPECT_EQ(all.parameters, weight + rest);
  EXPECT_EQ(all.kept_bytes, 3 * 4.0 * (weight + rest) + workspace);
  EXPECT_EQ(all.update_bytes, 4.0 * (weight + rest));
  const PeakMemory some =
      live_memory(step_with_gradients(true), 8, batch_law().device_memory, 9).value();
  EXPECT_EQ(some.parameters, weight + rest);
  EXPECT_EQ(some.kept_bytes, 4.0 * weight + 3 * 4.0 * rest + workspace);
  EXPECT_EQ(some.update_bytes, 4.0 * rest);
}

/// A training step of a compiled graph that is given a table of 100 x 16 and a weight of 16 x 16.
/// The optimizer adds rows to the table, if its gradient is `sparse`.
Step graph_with_a_table(bool sparse) {
  TraceMaker m;
  m.step(1, 0, 1000);
  m.note("Optimizer.step#SGD.step", 500, 200);
  m.operands(m.op("CompiledFunction", 10, 90, 0),
             {"[[100,16],[16,16],[8]]", R"(["float","float","long int"])", "", ""});
  m.operands(m.op("triton_poi_fused_0", 20, 60, 0),
             {"[[8,16],[8,16]]", R"(["float","float"])", "", ""});
  m.launch(30, 4, 1);
  m.kernel(40, 20, 1);
  m.operands(m.op("torch::autograd::AccumulateGrad", 200, 10, 0),
             {"[[100,16]]", R"(["float"])", "", ""});
  m.operands(m.op("torch::autograd::AccumulateGrad", 220, 10, 0),
             {"[[16,16]]", R"(["float"])", "", ""});
  if (sparse) {
    m.operands(m.op("aten::index_add_", 520, 40, 0),
               {"[[100,16],[],[8],[8,16],[]]", R"(["float","Scalar","long int","float","Scalar"])",
                "", ""});
    m.launch(530, 4, 2);
    m.kernel(540, 20, 2);
  }
  return step_of(m);
}

// While the optimizer runs there are gradients of 4 bytes a parameter: (100 x 16 + 16 x 16) x 4. A
// sparse one of the table holds the rows that were read alone: 16 x 16 x 4. The table is there.
TEST(WhatifBatchMemory, SparseGradientsOfCompiledGraphsAreNoTables) {
  constexpr double table = 4.0 * 100 * 16, weight = 4.0 * 16 * 16;
  for (const bool sparse : {false, true}) {
    const PeakMemory memory =
        live_memory(graph_with_a_table(sparse), 8, batch_law().device_memory, 9).value();
    EXPECT_EQ(memory.parameters, 100 * 16 + 16 * 16);
    EXPECT_EQ(memory.update_bytes, sparse ? weight : table + weight);
  }
}

// 8 items as groups of one image, each with 4 filters of 3 x 3 x 3 of its own: computed, no
// parameters. An image of 8 items shares its 32 filters of as many numbers.
TEST(WhatifBatchMemory, FiltersOfSingleItemsAreNoParameters) {
  for (const bool own : {false, true}) {
    StepMaker m;
    m.op("aten::conv2d", own ? "[[1,24,9,9],[32,3,3,3]]" : "[[8,3,9,9],[32,3,3,3]]",
         R"(["float","float"])");
    const PeakMemory memory = live_memory(m.step(), 8, batch_law().device_memory, 9).value();
    EXPECT_EQ(memory.parameters, own ? 0 : 32 * 3 * 3 * 3);
  }
}

}  // namespace
}  // namespace tandem
