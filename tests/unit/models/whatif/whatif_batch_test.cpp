#include <gtest/gtest.h>

#include "models/whatif/batch/rewrite.h"
#include "sim/predict/predict.h"
#include "tests/operands_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

using test::BatchTraceMaker;
using test::options_for;
using test::us_of;

using test::parse_tensors;

OpTensors tensors(std::string_view dims) { return parse_tensors(dims); }

std::vector<std::int8_t> axes(std::string_view op, std::string_view dims, std::int64_t batch,
                              const ParameterShapes& parameters = {}, bool second = false) {
  return growing_axes(op_row(op), tensors(dims), {batch, parameters, {}, false, {}}, second);
}

ParameterShapes shapes(std::string_view dims) {
  ParameterShapes out;
  for (const TensorShape& t : tensors(dims).shapes) out.add(t);
  return out;
}

using Axes = std::vector<std::int8_t>;

TEST(WhatifBatchAxes, WeightsAreKnownByTheirPosition) {
  EXPECT_EQ(axes("aten::cudnn_convolution", "[[8,64,56,56],[64,64,3,3]]", 8), (Axes{0, -1}));
  EXPECT_EQ(axes("aten::convolution_backward", "[[8,64,7,7],[8,64,7,7],[64,64,3,3]]", 8),
            (Axes{0, 0, -1}));
  EXPECT_EQ(axes("aten::linear", "[[16,768],[768,768],[768]]", 16), (Axes{0, -1, -1}));
}

// x @ weight.T of three dimensions by two; scores of heads and products of two matrices are none.
TEST(WhatifBatchAxes, AMatrixThatRowsAreMultipliedByIsAWeight) {
  const OpRow& row = op_row("aten::matmul");
  const OpTensors layer = tensors("[[8,512,1024],[1024,1152]]");
  ASSERT_NE(bare_weight(row, layer), nullptr);
  EXPECT_EQ(bare_weight(row, layer)->dims[1], 1152);
  EXPECT_EQ(bare_weight(row, tensors("[[8,16,512,64],[8,16,64,512]]")), nullptr);
  EXPECT_EQ(bare_weight(row, tensors("[[512,1024],[1024,1152]]")), nullptr);
  EXPECT_EQ(bare_weight(op_row("aten::linear"), layer), nullptr);  // it states its weight
}

// 8 images of 64 windows: queries, keys and values of them, and the gradient of one of the three. A
// filter of three outputs is no stack of parts, nor is a tensor of few dimensions.
TEST(WhatifBatchAxes, WindowsOfItemsGrowBehindStackedParts) {
  EXPECT_EQ(axes("aten::add_", "[[3,512,6,49,32],[3,512,6,49,32]]", 8), (Axes{1, 1}));
  EXPECT_EQ(axes("aten::copy_", "[[512,6,49,32],[512,6,49,32]]", 8), (Axes{0, 0}));
  EXPECT_EQ(axes("aten::add_", "[[3,500,6,49,32]]", 8), (Axes{-1}));
  EXPECT_EQ(axes("aten::add_", "[[3,64,3,3]]", 8), (Axes{-1}));
  EXPECT_EQ(axes("aten::add_", "[[5,64,6,49,32]]", 8), (Axes{-1}));
}

TEST(WhatifBatchAxes, ParameterShapesDoNotGrowElsewhere) {
  EXPECT_EQ(axes("aten::copy_", "[[64,64],[64,64]]", 8, shapes("[[64,64]]")), (Axes{-1, -1}));
  EXPECT_EQ(axes("aten::gelu", "[[64,64]]", 8, shapes("[[64,64]]")), (Axes{0}));
}

TEST(WhatifBatchAxes, AProductGrowsWhereNoParameterIs) {
  const ParameterShapes p = shapes("[[3072,768]]");
  EXPECT_EQ(axes("aten::mm", "[[512,768],[768,3072]]", 4, p), (Axes{0, -1}));
  EXPECT_EQ(axes("aten::mm", "[[768,512],[512,3072]]", 4, p), (Axes{1, 0}));
  EXPECT_EQ(axes("aten::mm", "[[3072,768],[768,512]]", 4, p), (Axes{-1, 1}));
}

TEST(WhatifBatchAxes, TheOrderOfABackwardPassDecidesBetweenEqualShapes) {
  const ParameterShapes p = shapes("[[768,768]]");
  EXPECT_EQ(axes("aten::mm", "[[768,768],[768,768]]", 6, p, false), (Axes{0, -1}));
  EXPECT_EQ(axes("aten::mm", "[[768,768],[768,768]]", 6, p, true), (Axes{1, 0}));
}

TEST(WhatifBatchAxes, TokensThatAreAsManyAsALayerIsWide) {
  // A decoder of 10000 words on 16 x 64 = 1024 tokens of width 1024: logits and activations have
  // the shapes of weights (transposed).
  const ParameterShapes p = shapes("[[10000,1024],[4096,1024]]");
  EXPECT_EQ(axes("aten::mm", "[[1024,1024],[1024,10000]]", 16, p), (Axes{0, -1}));
  EXPECT_EQ(axes("aten::mm", "[[10000,1024],[1024,1024]]", 16, p, true), (Axes{1, 0}));
  EXPECT_EQ(axes("aten::log_softmax", "[[1024,10000]]", 16, p), (Axes{0}));
  EXPECT_EQ(axes("aten::nll_loss_nd", "[[1024,10000],[1024]]", 16, p), (Axes{0, 0}));
}

TEST(WhatifBatchAxes, BroadcastOperandsAndStepsOfASequenceDoNotGrow) {
  EXPECT_EQ(axes("aten::add", "[[4,128,768],[1,128,768]]", 4), (Axes{0, -1}));
  EXPECT_EQ(axes("aten::mul", "[[35,20,650]]", 20), (Axes{1}));
}

TEST(WhatifBatchRewrite, ShapesAndStridesFollowTheBatch) {
  BatchOp op;
  constexpr std::string_view types = R"(["float","Scalar","float"])";
  op.axis = {0, 1};
  op.tensors = parse_tensors("[[4,8],[],[8,4]]", types, "[[8,1],[],[4,1]]");
  EXPECT_EQ(resize_layout(op, 4, 12),
            parse_tensors("[[12,8],[],[8,12]]", types, "[[8,1],[],[12,1]]"));
  op.tensors = parse_tensors("[[4,8],[],[8,4]]", types, "[[8,1],[],[1,8]]");
  EXPECT_EQ(resize_layout(op, 4, 12),
            parse_tensors("[[12,8],[],[8,12]]", types, "[[8,1],[],[1,8]]"));
  op.tensors = parse_tensors("[[4,8],[],[8,4]]", types);  // strides that were not recorded
  EXPECT_EQ(resize_layout(op, 4, 12), parse_tensors("[[12,8],[],[8,12]]", types));
  op.tensors = parse_tensors("[[4,8],[],[8,4]]", types, "[[0,1],[],[0,0]]");  // expanded
  EXPECT_EQ(resize_layout(op, 4, 12),
            parse_tensors("[[12,8],[],[8,12]]", types, "[[0,1],[],[0,0]]"));
}

TEST(WhatifBatchKernel, ShortKernelsTellLittleOfTheirBody) {
  KernelScaling s;
  s.scale = ScaleClass::memory;
  s.floor_us = 2, s.damping = {.floor_share = 0.85, .us = 1}, s.base_us = 5, s.target_us = 10;
  EXPECT_NEAR(s.predict_us(7), 12, 1e-9);           // the model explains it: no damping
  EXPECT_LT(s.predict_us(2.1), 2 + 10 * 0.1 * 10);  // at the floor the residual is not believed
  s.scale = ScaleClass::constant;
  EXPECT_EQ(s.predict_us(7), 7);
}

TEST(WhatifBatch, WorkOfTheBatchGrowsAndTheUpdateStays) {
  const BatchTraceMaker base(1024);
  LossList losses;
  BatchReport report;
  const Trace out = with_batch(base.run(1024), options_for(4096), losses, &report);
  EXPECT_NEAR(us_of(out, test::layer_kernel) / test::layer_us, 3.8, 0.5);
  EXPECT_NEAR(us_of(out, test::gradient_kernel) / test::gradient_us, 3.8, 0.5);
  EXPECT_GT(us_of(out, test::relu_kernel), 2.5 * test::relu_us);
  EXPECT_EQ(out.activities.duration[test::update_kernel],
            base.trace.activities.duration[test::update_kernel]);
  EXPECT_EQ(report.classes[test::layer_kernel], ScaleClass::matrix);
  EXPECT_EQ(report.classes[test::relu_kernel], ScaleClass::memory);
  EXPECT_EQ(report.classes[test::update_kernel], ScaleClass::constant);
  EXPECT_DOUBLE_EQ(report.confidence.factor, 4);
  EXPECT_EQ(losses.count("batch_without_shapes"), 0);
}

TEST(WhatifBatch, ShapesAndGridsAreThoseOfTheNewBatch) {
  const BatchTraceMaker base(64), wanted(256);
  LossList losses;
  const Trace out = with_batch(base.run(64), options_for(256), losses);
  for (std::uint32_t i = 0; i < out.ops.size(); ++i) {
    EXPECT_EQ(operands_of(out, i), operands_of(wanted.trace, i));
  }
  const auto grid = [](const Trace& t, std::uint32_t a) {
    return t.geometries[t.activities.geometry[a].index()].grid;
  };
  EXPECT_EQ(grid(out, test::relu_kernel), grid(wanted.trace, test::relu_kernel));
  EXPECT_EQ(grid(out, test::update_kernel), grid(base.trace, test::update_kernel));
}

TEST(WhatifBatch, WithoutShapesEverythingButTheUpdateIsTakenToGrow) {
  BatchTraceMaker base(64);
  base.trace.ops = {};
  LossList losses;
  BatchReport report;
  const Trace out = with_batch(base.run(64), options_for(128), losses, &report);
  EXPECT_EQ(losses.count("batch_without_shapes"), 1);
  EXPECT_GT(report.confidence.affine_share, 0.8);
  EXPECT_GT(us_of(out, test::layer_kernel), 1.6 * test::layer_us);
  EXPECT_EQ(us_of(out, test::update_kernel), test::update_us);
}

TEST(WhatifBatchTwoBases, TheResultMeetsBothRuns) {
  const BatchTraceMaker a(64), b(256, 3);
  const BatchBase first = a.run(64), second = b.run(256);
  const auto layer_at = [&](std::int64_t batch, bool from_second) {
    LossList losses;
    BatchReport report;
    const Trace out = with_batch(first, second, options_for(batch), losses, &report);
    EXPECT_EQ(report.from_second, from_second);
    EXPECT_EQ(report.confidence.extrapolated, batch < 64 || batch > 256);
    return us_of(out, test::layer_kernel);
  };
  EXPECT_NEAR(layer_at(64, false), test::layer_us, 1e-4);
  EXPECT_NEAR(layer_at(256, true), 3 * test::layer_us, 1e-4);
  EXPECT_LT(layer_at(32, false), layer_at(64, false));
  EXPECT_GT(layer_at(512, true), layer_at(256, true));
}

TEST(WhatifBatchTwoBases, TheOrderOfTheRunsDoesNotMatter) {
  const BatchTraceMaker a(64), b(256, 3);
  const BatchBase first = a.run(64), second = b.run(256);
  for (const std::int64_t batch : {16, 100, 200, 1024}) {
    LossList losses;
    const Trace x = with_batch(first, second, options_for(batch), losses);
    const Trace y = with_batch(second, first, options_for(batch), losses);
    EXPECT_EQ(us_of(x, test::layer_kernel), us_of(y, test::layer_kernel)) << batch;
  }
}

TEST(WhatifBatchTwoBases, WithoutShapesAStraightLineJoinsTheRuns) {
  BatchTraceMaker a(64), b(256, 3);
  a.trace.ops = {}, b.trace.ops = {};
  LossList losses;
  const Trace out = with_batch(a.run(64), b.run(256), options_for(160), losses);
  EXPECT_NEAR(us_of(out, test::layer_kernel), 2 * test::layer_us, 1e-3);
  EXPECT_NEAR(us_of(out, test::update_kernel), test::update_us, 1e-3);
}

// Recurrent layers are off by more than others (validation/DEVIATIONS.md, 3), and the prediction
// says so: two octaves at 0.04 x their share on top of 0.01.
TEST(WhatifBatch, RecurrentLayersWidenTheError) {
  const auto error_of = [](const std::string& name, std::int64_t batch) {
    ReplayOptions o;
    o.configs = source_path("configs");
    o.trace_path = source_path("validation/captures/") + name + ".json.zst";
    o.what_ifs.set("batch", batch);
    return find_report(replay(o).prediction.result.what_ifs, "batch")->expected_error;
  };
  EXPECT_GT(error_of("h200_2026-11-21_tf32_holdout/traces/gru-train-fp32-eager-b32", 128), 0.05);
  EXPECT_LT(error_of("h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32", 128), 0.03);
}

}  // namespace
}  // namespace tandem
