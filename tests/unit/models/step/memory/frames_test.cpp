// What frames of a program keep alive at inference.
#include "models/step/memory/frames.h"

#include <gtest/gtest.h>

#include <string>

#include "models/memory/lives.h"
#include "models/step/memory/step_memory.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

constexpr double item_rows = 8 * 1024 * 4;  // bytes of 8 items of 1024 floats

void issue_norm(test::FlowMaker& m) {
  m.op("aten::native_layer_norm", "[[8,1024],[],[1024],[1024],[]]",
       R"(["float","ScalarList","float","float","Scalar"])");
}

void issue_product(test::FlowMaker& m, int from, int to) {
  const std::string k = std::to_string(from), n = std::to_string(to);
  m.op("aten::addmm", "[[" + n + "],[8," + k + "],[" + k + "," + n + "],[],[]]",
       R"(["float","float","float","Scalar","Scalar"])");
}

/// Two products, four times as wide between them.
void issue_wide(test::FlowMaker& m) {
  issue_product(m, 1024, 4096);
  m.op("aten::gelu", "[[8,4096],[]]", R"(["float",""])");
  issue_product(m, 4096, 1024);
}

/// Of another width, three quarters of the others', and eight times as wide inside.
void issue_block_without_skip(test::FlowMaker& m) {
  issue_product(m, 1024, 768);
  issue_product(m, 768, 8192);
  m.op("aten::gelu", "[[8,8192],[]]", R"(["float",""])");
  issue_product(m, 8192, 1024);
}

void issue_add(test::FlowMaker& m, int width = 1024) {
  const std::string dims = "[8," + std::to_string(width) + "]";
  m.op("aten::add", "[" + dims + "," + dims + ",[]]", R"(["float","float","Scalar"])");
}

double peak_of(test::FlowMaker& m) { return worst_bytes(live_tensors(m.step(), 8)); }

// In the second block, while the activation runs: its operand and its result, 4 + 4; what its norm
// made, for the products are a module, 1; what the block was given, 1; what the stage was given, 1;
// the input of the step, 1. Of the third and fourth only one is read again.
TEST(Frames, ModulesHoldWhatTheyWereGiven) {
  test::FlowMaker m;
  issue_product(m, 1024, 1024);
  for (int block = 0; block < 2; ++block) issue_norm(m), issue_wide(m), issue_add(m);
  EXPECT_EQ(peak_of(m), 12 * item_rows);
}

// The first norm belongs to the embeddings, for its result is dropped from: each block ends with
// its norm, which makes what the next block is given, so that nothing is held beside it.
TEST(Frames, BlocksThatEndWithANormHoldItsResult) {
  test::FlowMaker m;
  issue_product(m, 1024, 1024);
  issue_norm(m);
  m.idle("aten::dropout", "[[8,1024],[],[]]", R"(["float","Scalar","Scalar"])");
  for (int block = 0; block < 2; ++block) issue_wide(m), issue_add(m), issue_norm(m);
  EXPECT_EQ(peak_of(m), 11 * item_rows);
}

// Attention's products and those after it are one block: while the second ones run, it holds what
// the first were given. In the second block: 4 + 4, two inputs of branches, their norm's result,
// what the stage was given and the input of the step.
TEST(Frames, BranchesThatAlternateAreOneBlock) {
  test::FlowMaker m;
  issue_product(m, 1024, 1024);
  for (int block = 0; block < 2; ++block) {
    issue_norm(m), issue_product(m, 1024, 1024), issue_product(m, 1024, 1024),
        issue_product(m, 1024, 1024), issue_add(m);
    issue_norm(m), issue_wide(m), issue_add(m);
  }
  EXPECT_EQ(peak_of(m), 13 * item_rows);
}

// A block of another width has no skip. Its products are of the kind of those of the blocks after
// it: what it was given, three quarters as wide, is there while its activation runs.
TEST(Frames, ABlockWithoutASkipIsFoundByItsProducts) {
  test::FlowMaker m;
  issue_block_without_skip(m);
  for (int block = 0; block < 2; ++block) issue_wide(m), issue_add(m);
  // The input 1, what the block was given 3/4, the operand and the result of its activation 8 + 8.
  EXPECT_EQ(peak_of(m), 17.75 * item_rows);
}

// The same with a single block behind it, whose skip tells where it begins: no other one of its
// width does.
TEST(Frames, ABlockIsWhatTheOnlySkipOfItsWidthGoesAround) {
  test::FlowMaker m;
  issue_block_without_skip(m);
  issue_wide(m), issue_add(m);
  EXPECT_EQ(peak_of(m), 17.75 * item_rows);
}

// x * (1 + tanh(x)) + ...: the operand of the first product stays until the last of them has run,
// though nothing is seen to read it any more.
TEST(Frames, ASpelledActivationHoldsItsOperand) {
  test::FlowMaker m;
  issue_product(m, 1024, 4096);
  for (int i = 0; i < 4; ++i) m.op("aten::tanh", "[[8,4096]]", R"(["float"])");
  issue_product(m, 4096, 1024);
  // The input 1, the product's result 4, an operand and a result 4 + 4.
  EXPECT_EQ(peak_of(m), 13 * item_rows);
}

// Bounds of logits stand in the model itself, under the name of what they bound: an operand and a
// result, 4 + 4, and the step's input 1.
TEST(Frames, WhatFollowsTheLastLayerHoldsNoOperand) {
  test::FlowMaker m;
  issue_product(m, 1024, 4096);
  for (int i = 0; i < 4; ++i) m.op("aten::tanh", "[[8,4096]]", R"(["float"])");
  EXPECT_EQ(peak_of(m), 9 * item_rows);
}

// Their gradients hold tensors longer than any frame.
// Autocast turns what a norm is given from 16 bits to FP32: half as much is there beside operand
// and result, 1 + 1, until the norm returns. The product's input is gone by then, but it is that of
// the step, 1/2.
TEST(Frames, ANormsOperandOutlivesItsConversion) {
  test::FlowMaker m;
  m.op("aten::addmm", "[[1024],[8,1024],[1024,1024],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])");
  m.op("aten::layer_norm>aten::copy_", "[[8,1024],[8,1024],[]]",
       R"(["float","c10::Half","Scalar"])");
  m.op("aten::layer_norm>aten::native_layer_norm", "[[8,1024],[],[1024],[1024],[]]",
       R"(["float","ScalarList","float","float","Scalar"])");
  EXPECT_EQ(peak_of(m), 3 * item_rows);
}

TEST(Frames, NothingOfAStepWithGradients) {
  test::FlowMaker m;
  issue_product(m, 1024, 1024);
  for (int block = 0; block < 2; ++block) issue_norm(m), issue_wide(m), issue_add(m);
  m.op("autograd::engine::evaluate_function: AddmmBackward0>aten::mm", "[[8,1024],[1024,4096]]",
       R"(["float","float"])");
  const Step step = m.step();
  const FrameLives frames = held_by_frames(step, dataflow(step));
  EXPECT_TRUE(frames.held.empty());
  EXPECT_TRUE(frames.skips.empty());
}

// A list of two is joined, converted by autocast and read by a convolution: 8 x 16 x 16 floats are
// 8192 bytes. The list's members are named until then, though no gradient needs them.
TEST(Frames, MembersOfAListLiveOnInAStepWithGradients) {
  test::FlowMaker m;
  m.op("aten::tanh", "[[8,16,4,4]]", R"(["float"])");
  m.op("aten::sigmoid", "[[8,16,4,4]]", R"(["float"])");
  m.op("aten::cat", "[[[8,16,4,4],[8,16,4,4]],[]]", R"(["TensorList","Scalar"])", R"(["","1"])");
  m.op("aten::conv2d>aten::_to_copy>aten::copy_", "[[8,32,4,4],[8,32,4,4],[]]",
       R"(["c10::Half","float","Scalar"])");
  m.op("aten::conv2d>aten::cudnn_convolution", "[[8,32,4,4],[64,32,1,1],[],[],[],[],[],[],[]]",
       R"(["c10::Half","c10::Half","","","","","","",""])",
       R"(["","","[0, 0]","[1, 1]","[1, 1]","1","False","False","True"])");
  m.op("autograd::engine::evaluate_function: AddmmBackward0>aten::mm", "[[8,1024],[1024,4096]]",
       R"(["float","float"])");
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  const FrameLives frames = held_by_frames(step, flow);
  ASSERT_EQ(frames.held.size(), 3U);  // the whole and its two members
  for (const HeldTensor& h : frames.held) {
    EXPECT_LE(flow.tensors[h.tensor].producer, 2U);
    EXPECT_EQ(h.until, 4U);
  }
  EXPECT_TRUE(frames.skips.empty());
}

}  // namespace
}  // namespace tandem
