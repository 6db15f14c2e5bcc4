#include "models/step/batch/batch_size.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

std::optional<std::int64_t> batch_of(std::string_view op, std::string_view dims) {
  TraceMaker m;
  m.op(op, 10, 5, 0, dims);
  m.kernel(20, 5, -1);
  return batch_size(m.trace, link_trace(m.trace)).items;
}

TEST(BatchSize, IsTheLeadingDimensionOfTheInput) {
  EXPECT_EQ(batch_of("aten::conv2d", "[[32,3,224,224],[64,3,7,7],[]]"), 32);
  EXPECT_EQ(batch_of("aten::linear", "[[16,128,768],[768,768]]"), 16);
  EXPECT_EQ(batch_of("aten::addmm", "[[768],[16,768],[768,768]]"), 16);     // the bias comes first
  EXPECT_EQ(batch_of("aten::embedding", "[[30522,768],[8,128]]"), 8);       // the table comes first
  EXPECT_EQ(batch_of("aten::im2col", "[[32,3,224,224],[],[],[],[]]"), 32);  // patches come later
}

/// Of a step whose first layer takes 128 pictures after an operation on `dims`.
std::optional<std::int64_t> batch_behind(std::string_view dims) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("aten::reshape", 5, 5, 0, dims);
  m.op("aten::conv2d", 20, 5, 0, "[[128,3,112,112],[64,3,16,16],[]]");
  m.launch(21, 2, 1);
  m.kernel(30, 5, 1);
  return batch_size(m.trace, link_trace(m.trace)).items;
}

// 32 clips of four frames, which a view put in a row; other tensors of five dimensions are no clips
// of these pictures.
TEST(BatchSize, IsThatOfTheClipsWhoseFramesTheFirstLayerTakes) {
  EXPECT_EQ(batch_behind("[[32,4,3,112,112],[]]"), 32);
  EXPECT_EQ(batch_behind("[[128,3,112,112],[]]"), 128);
  EXPECT_EQ(batch_behind("[[16,4,3,112,112],[]]"), 128);
  EXPECT_EQ(batch_behind("[[32,4,3,56,224],[]]"), 128);
}

TEST(BatchSize, IsUnknownWithoutShapesOrLayers) {
  EXPECT_EQ(batch_of("aten::conv2d", ""), std::nullopt);
  EXPECT_EQ(batch_of("aten::conv2d", "[[],[64,3,7,7]]"), std::nullopt);
  EXPECT_EQ(batch_of("aten::addmm", "[[768]]"), std::nullopt);
  EXPECT_EQ(batch_of("aten::conv2d", "[[0,3]]"), std::nullopt);
  EXPECT_EQ(batch_of("aten::relu", "[[32,3]]"), std::nullopt);
}

TEST(BatchSize, IsUnknownWhereACompilerMergedItWithOtherDimensions) {
  for (const bool compiled : {false, true}) {
    TraceMaker m;
    m.step(0, 0, 100);
    if (compiled) m.op("Torch-Compiled Region: 0/0", 1, 50);
    m.op("aten::addmm", 5, 10, 0, "[[768],[2048,768],[768,768]]");
    m.launch(6, 2, 1);
    m.kernel(20, 5, 1);
    const auto batch = batch_size(m.trace, link_trace(m.trace)).items;
    EXPECT_EQ(batch.has_value(), !compiled);
  }
}

/// Of a step of compiled code given `dims`: a product of 2048 merged rows, then convolutions of 32
/// and of 64 items.
std::optional<std::int64_t> compiled_batch(std::string_view dims, std::string_view types = "") {
  TraceMaker m;
  m.step(0, 0, 100);
  m.operands(m.op("CompiledFunction", 1, 50), {dims, types, "", ""});
  m.op("aten::addmm", 5, 5, 0, "[[768],[2048,768],[768,768]]");
  m.op("aten::convolution", 30, 5, 0, "[[64,8,28,28],[16,8,3,3]]");
  m.op("aten::convolution", 20, 5, 0, "[[32,3,224,224],[8,3,7,7]]");
  m.launch(6, 2, 1);
  m.kernel(60, 5, 1);
  return batch_size(m.trace, link_trace(m.trace)).items;
}

TEST(BatchSize, IsThatOfConvolutionsWhereACompilerMergedTheRowsOfProducts) {
  EXPECT_EQ(compiled_batch("[[32,3,224,224]]", R"(["float"])"), 32);
  EXPECT_EQ(compiled_batch("[[2048]]", R"(["long int"])"), 32);  // indices without tokens
}

TEST(BatchSize, IsThatOfTheTokensThatCompiledCodeIsGiven) {
  EXPECT_EQ(compiled_batch("[[16,128]]", R"(["long int"])"), 16);
  // Numbers of positions are one row for all items, wherever they stand.
  EXPECT_EQ(compiled_batch("[[1,512],[16,128]]", R"(["long int","long int"])"), 16);
  EXPECT_EQ(compiled_batch("[[1,512],[1,128]]", R"(["long int","long int"])"), 1);
}

/// Of a compiled step of products alone, whose code is given a bias, a weight and `dims`; gradients
/// reach the first two if it `trains`.
std::optional<std::int64_t> untrained_batch(const std::string& dims, bool trains) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("CompiledFunction", 1, 50, 0, "[[768],[768,768]," + dims + "]");
  m.op("aten::addmm", 5, 5, 0, "[[768],[2048,768],[768,768]]");
  m.launch(6, 2, 1);
  if (trains) {
    m.op("torch::autograd::AccumulateGrad", 70, 2, 0, "[[768]]");
    m.op("torch::autograd::AccumulateGrad", 75, 2, 0, "[[768,768]]");
  }
  m.kernel(60, 5, 1);
  return batch_size(m.trace, link_trace(m.trace)).items;
}

TEST(BatchSize, IsThatOfTheFirstTensorOfCompiledCodeThatNoGradientReaches) {
  EXPECT_EQ(untrained_batch("[16,128,768]", true), 16);
  EXPECT_EQ(untrained_batch("[1,128,768],[16,128,768]", true), 16);  // places come before
  EXPECT_EQ(untrained_batch("[768,768]", true), std::nullopt);       // of a parameter's shape
  EXPECT_EQ(untrained_batch("[16,128,768]", false), std::nullopt);   // a parameter, perhaps
}

// Without gradients nothing tells a parameter, but none is like a picture.
TEST(BatchSize, IsThatOfThePicturesThatCompiledCodeIsGiven) {
  EXPECT_EQ(untrained_batch("[64,3,224,224]", false), 64);
  EXPECT_EQ(untrained_batch("[64,3,7,7]", false), std::nullopt);
  EXPECT_EQ(untrained_batch("[64,96,56,56]", false), std::nullopt);
}

// Two passes of 8 items before the optimizer: tensors have 8, the step works on 16.
TEST(BatchSize, IsThatOfOnePassBesideTheirNumber) {
  TraceMaker m;
  m.step(0, 0, 100);
  for (const double begin : {10.0, 40.0}) {
    m.op("aten::linear", begin, 5, 0, "[[8,32],[32,32]]");
    m.op("torch::autograd::AccumulateGrad", begin + 10, 2, 1, "[[32,32]]");
  }
  m.kernel(60, 5, -1);
  const BatchSize batch = batch_size(m.trace, link_trace(m.trace));
  EXPECT_EQ(batch.items, 8);
  EXPECT_EQ(batch.passes, 2);
}

/// A network that is given `first`, works on `edges` rows as well, and answers with `last` rows.
std::optional<std::int64_t> batch_of_graphs(int first, int edges, int last) {
  TraceMaker m;
  const auto rows = [](int n, const char* behind) { return "[[" + std::to_string(n) + behind; };
  m.op("aten::embedding", 10, 5, 0, "[[21,80],[" + std::to_string(first) + "]]");
  m.op("aten::linear", 20, 5, 0, rows(edges, ",160],[80,160]]"));
  m.op("aten::linear", 30, 5, 0, rows(last, ",80],[1,80]]"));
  m.kernel(40, 5, -1);
  return batch_size(m.trace, link_trace(m.trace)).items;
}

// Molecules of 24 atoms and 50 bonds each: 6144 and 12800 rows of 256. Where rows are no multiple
// of what the last layer is given (a memory of 100 vectors), or it is given one row, they stand.
TEST(BatchSize, IsThatOfTheGraphsWhoseNodesAreRows) {
  EXPECT_EQ(batch_of_graphs(6144, 12800, 256), 256);
  EXPECT_EQ(batch_of_graphs(6144, 12800, 6144), 6144);
  EXPECT_EQ(batch_of_graphs(6144, 12800, 100), 6144);
  EXPECT_EQ(batch_of_graphs(6144, 12800, 1), 6144);
  EXPECT_EQ(batch_of_graphs(6144, 12345, 256), 6144);
}

TEST(BatchSize, TakesTheFirstLayerOfTheFirstStep) {
  TraceMaker m;
  m.op("aten::conv2d", 10, 5, 0, "[[99,3]]");  // before the step
  m.op("aten::linear", 300, 5, 0, "[[7,3]]");
  m.op("aten::conv2d", 200, 5, 0, "[[32,3]]");
  m.step(3, 100, 400);
  m.kernel(210, 5, -1);
  EXPECT_EQ(batch_size(m.trace, link_trace(m.trace)).items, 32);
}

/// A step with a convolution of 1024 points at 20 us and a graph launched at `graph_us`, from 1 us
/// to 15 us within compiled code that is given what `dims` says.
BatchSize batch_beside_graph(double graph_us, std::string_view dims) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("Torch-Compiled Region: 0/0", 1, 14, 0, dims);
  m.op("aten::conv2d", 20, 5, 0, "[[1024,3,8,8],[64,3,7,7]]");
  m.call("cudaGraphLaunch", graph_us, 2, 1);
  m.kernel(60, 5, 1);
  return batch_size(m.trace, link_trace(m.trace));
}

TEST(BatchSize, IsUnknownWhereAGraphIsLaunchedBeforeTheFirstLayer) {
  // The graph at 10 us comes before the layer at 20 us, that at 30 us after it.
  EXPECT_EQ(batch_beside_graph(10, "").items, std::nullopt);
  EXPECT_TRUE(batch_beside_graph(10, "").behind_graph);
  EXPECT_EQ(batch_beside_graph(30, "").items, 1024);
  EXPECT_FALSE(batch_beside_graph(30, "").behind_graph);
}

TEST(BatchSize, IsReadWhereTheCodeThatLaunchesTheGraphSaysWhatItIsGiven) {
  EXPECT_EQ(batch_beside_graph(10, "[[1024,64]]").items, 1024);
  EXPECT_EQ(batch_beside_graph(17, "[[1024,64]]").items, std::nullopt);  // launched by nobody
}

TEST(BatchSize, OfAGraphIsWhatTheUserSays) {
  TraceMaker m;
  m.call("cudaGraphLaunch", 1, 2, 1);
  m.op("aten::conv2d", 20, 5, 0, "[[1024,3,8,8],[64,3,7,7]]");
  m.kernel(60, 5, 1);
  m.trace.stated_batch = 2;
  EXPECT_EQ(batch_size(m.trace, link_trace(m.trace)).items, 2);
}

/// Steps of 100 us, each with a convolution of so many images; 0: with none.
Links steps_of(TraceMaker& m, const std::vector<int>& batches) {
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const double at = 100.0 * static_cast<double>(i);
    m.step(static_cast<int>(i), at, 100);
    const std::string dims = "[[" + std::to_string(batches[i]) + ",3,224,224],[64,3,7,7],[]]";
    m.op(batches[i] > 0 ? "aten::conv2d" : "aten::relu", at + 10, 5, 0, dims);
    m.launch(at + 12, 2, static_cast<std::int64_t>(i) + 1);
    m.kernel(at + 20, 5, static_cast<std::int64_t>(i) + 1);
  }
  return link_trace(m.trace);
}

TEST(BatchSize, StepsOfAnotherBatchAreLeftOut) {
  TraceMaker m;
  Links links = steps_of(m, {32, 32, 7});  // the last batch is short
  EXPECT_EQ(keep_steps_of_one_batch(m.trace, links), 1);
  ASSERT_EQ(links.steps.size(), 2U);
  EXPECT_EQ(batch_size(m.trace, links).items, 32);
}

TEST(BatchSize, OfAsManyStepsOfTwoBatchesTheLastOnesAreKept) {
  TraceMaker m;
  Links links = steps_of(m, {64, 64, 16, 16});
  EXPECT_EQ(keep_steps_of_one_batch(m.trace, links), 2);
  EXPECT_EQ(batch_size(m.trace, links).items, 16);
}

TEST(BatchSize, StepsOfWhichNothingIsKnownAreKept) {
  TraceMaker m;
  Links links = steps_of(m, {32, 0, 32, 0});
  EXPECT_EQ(keep_steps_of_one_batch(m.trace, links), 0);
  EXPECT_EQ(links.steps.size(), 4U);
}

}  // namespace
}  // namespace tandem
