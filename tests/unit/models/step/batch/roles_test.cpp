// Which dimension of an operand grows with the batch.
#include "models/step/batch/roles.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/operands_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

std::vector<std::int8_t> axes_of(std::string_view name, const std::string& dims,
                                 const ParameterShapes& joined = {}) {
  return growing_axes(op_row(name), test::parse_tensors(dims), {8, {}, joined, false, {}}, false);
}

// 1280 is a multiple of 8, but the scale of a norm stands beside the last dimension of its rows.
TEST(BatchRoles, AnOperandBesideTheLastDimensionsDoesNotGrowWithTheFirst) {
  EXPECT_EQ(axes_of("aten::mul", "[[1280],[8,512,1280]]"), (std::vector<std::int8_t>{-1, 0}));
  EXPECT_EQ(axes_of("aten::add", "[[8,16,64],[16,64]]"), (std::vector<std::int8_t>{0, -1}));
  EXPECT_EQ(axes_of("aten::mul", "[[8,512,1280],[8,512,1]]"), (std::vector<std::int8_t>{0, 0}));
}

TEST(BatchRoles, ALayerAloneDecidesByItsLeadingDimension) {
  EXPECT_EQ(axes_of("aten::mul", "[[1280]]"), (std::vector<std::int8_t>{0}));
}

// Words of 8 items, 512 each: rows of all pairs of words are the same for every item, though 512 is
// a multiple of 8; of the products of each word the rows, the sum or the columns are the 24 = 8 x 3
// heads of all items. Similarities of 16 views of 8 pictures, which have no sequence, grow.
TEST(BatchRoles, RowsOfAllPairsOfPositionsDoNotGrow) {
  const auto axes = [](std::string_view name, const std::string& dims) {
    const BatchShapes shapes{8, {}, {}, false, {512}};
    return growing_axes(op_row(name), test::parse_tensors(dims), shapes, false);
  };
  using Axes = std::vector<std::int8_t>;
  EXPECT_EQ(axes("aten::add", "[[512,512]]"), (Axes{-1}));
  EXPECT_EQ(axes("aten::copy_", "[[512,512,30],[512,512,30]]"), (Axes{-1, -1}));
  EXPECT_EQ(axes("aten::copy_", "[[512,30],[512,30]]"), (Axes{0, 0}));
  EXPECT_EQ(axes("aten::bmm", "[[512,24,30],[512,30,512]]"), (Axes{1, -1}));
  EXPECT_EQ(axes("aten::bmm", "[[512,30,24],[512,24,512]]"), (Axes{2, 1}));
  EXPECT_EQ(axes("aten::bmm", "[[512,24,64],[512,64,512]]"), (Axes{0, 0}));
  EXPECT_EQ(axes_of("aten::div", "[[16,16]]"), (Axes{0}));
}

// 8 images of 32 channels normalised one by one are one image of 256 channels for the library, and
// so for what reads its result in that shape. Other tensors of one item are broadcast over the
// batch.
TEST(BatchRoles, ImagesThatInstanceNormJoinsGrowByTheirChannels) {
  test::FlowMaker m;
  m.op("aten::instance_norm", "[[8,32,16,16],[32],[32]]", R"(["float","float","float"])");
  m.op("aten::cudnn_batch_norm", "[[1,256,16,16],[256],[256]]", R"(["float","float","float"])", "",
       "bn_fw_tr_1C11_singleread");
  m.op("aten::clone", "[[1,256,16,16]]", R"(["float"])");
  m.op("aten::add", "[[1,256,16,8],[8,256,16,8]]", R"(["float","float"])");
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  const BatchOps ops(step.trace, flow.nesting, 8);
  const auto axes = [&](std::size_t i) { return ops.op(ops.number(flow.ops[i].op)).axis; };
  EXPECT_EQ(axes(1), (std::vector<std::int8_t>{1, -1, -1}));
  EXPECT_EQ(axes(2), (std::vector<std::int8_t>{1}));
  EXPECT_EQ(axes(3), (std::vector<std::int8_t>{-1, 0}));
}

// A product of three indices runs as one of a batch of one: 1024 = 8 items of 128 words, and as
// many columns. Backward the gradient of the second factor comes first.
TEST(BatchRoles, TheOnlyMatrixOfABatchedProductGrowsAsOneAlone) {
  EXPECT_EQ(axes_of("aten::bmm", "[[1,1024,64],[1,64,1024]]"), (std::vector<std::int8_t>{1, -1}));
  test::FlowMaker m;
  m.sequence = 1;
  m.thread = 1;
  m.op("autograd::engine::evaluate_function: BmmBackward0>BmmBackward0>aten::bmm",
       "[[1,64,1024],[1,1024,1024]]", R"(["float","float"])");
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  const BatchOps ops(step.trace, flow.nesting, 8);
  ASSERT_EQ(flow.ops.size(), 1U);
  EXPECT_EQ(ops.op(ops.number(flow.ops[0].op)).axis, (std::vector<std::int8_t>{2, 1}));
}

// Eight weights of 512 x 512 are no eight items where gradients are stored for them; images that a
// layer reads are, be a gradient stored for them as well.
TEST(BatchRoles, WhatGradientsAreStoredForDoesNotGrow) {
  const auto axes = [](bool stored, bool read) {
    test::FlowMaker m;
    m.op("aten::clone", "[[8,512,512]]", R"(["float"])");
    if (read) {
      m.op("aten::conv1d", "[[8,512,512],[512,512,1],[]]", R"(["float","float","Scalar"])");
    }
    if (stored) m.op("torch::autograd::AccumulateGrad", "[[8,512,512]]", R"(["float"])");
    const Step step = m.step();
    const Dataflow flow = dataflow(step);
    const BatchOps ops(step.trace, flow.nesting, 4);
    return ops.op(ops.number(flow.ops[0].op)).axis;
  };
  EXPECT_EQ(axes(false, false), (std::vector<std::int8_t>{0}));
  EXPECT_EQ(axes(true, false), (std::vector<std::int8_t>{-1}));
  EXPECT_EQ(axes(true, true), (std::vector<std::int8_t>{0}));
}

}  // namespace
}  // namespace tandem
