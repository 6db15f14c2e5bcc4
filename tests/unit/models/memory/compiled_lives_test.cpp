// What compiled code saves for the backward pass and what it computes again.
#include "models/memory/compiled_lives.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tandem {
namespace {

/// A product makes 0; 1 = relu(0), 2 = 1 squared in twice the width, 3 = 2 times a scale. A product
/// reads 3; the gradient of the scale, 4, reads 2, and that of the rectifier, 5, reads 1.
std::vector<GraphOp> squared_relu() {
  const OpRow &mm = op_row("aten::mm"), &relu = op_row("aten::relu"), &power = op_row("aten::pow"),
              &mul = op_row("aten::mul"), &back = op_row("aten::threshold_backward");
  const GraphPhase f = GraphPhase::forward, b = GraphPhase::backward;
  return {{&mm, f, {}, {{0}}},   {&relu, f, {0}, {{1}}}, {&power, f, {1}, {{2}}},
          {&mul, f, {2}, {{3}}}, {&mm, f, {3}, {}},      {&mul, b, {2}, {{4}}},
          {&back, b, {1}, {{5}}}};
}

std::vector<GraphStorage> storages_of(double rectified_bytes, double squared_bytes) {
  std::vector<GraphStorage> out(6);
  const double bytes[] = {rectified_bytes, rectified_bytes, squared_bytes,
                          rectified_bytes, squared_bytes,   rectified_bytes};
  for (std::size_t i = 0; i < out.size(); ++i) out[i].bytes.fixed_bytes = bytes[i];
  return out;
}

// Values cost their bytes, a tenth more for each operation up to the backward pass. Saving 1
// (1.1 x 1000) serves both gradients; saving 2 as well (1.1 x 2000) would cost three times as much,
// saving 0 in place of 1 a tenth more. So 2 alone is computed again; 3 is never read later.
TEST(CompiledLives, TheBackwardPassComputesAgainWhatIsDearerThanItsOperand) {
  const std::vector<bool> again = computed_again(squared_relu(), storages_of(1000, 2000));
  EXPECT_EQ(again, (std::vector<bool>{false, false, true, false, false, false}));
}

// Random numbers cannot be drawn twice: what the mask of a dropout went into is saved.
TEST(CompiledLives, WhatCannotBeRepeatedIsSaved) {
  std::vector<GraphOp> ops = squared_relu();
  ops[2].writes[0].mask = true;
  const std::vector<bool> again = computed_again(ops, storages_of(1000, 2000));
  EXPECT_EQ(again, std::vector<bool>(6, false));
}

/// A product makes 0, and its gradient 1 of it; of another pass, if there is one, a product makes
/// 2, whose gradient 3 is added to 1.
std::vector<GraphOp> added_up(std::uint32_t pass) {
  const OpRow &mm = op_row("aten::mm"), &back = op_row("aten::threshold_backward"),
              &add = op_row("aten::add_");
  const GraphPhase f = GraphPhase::forward, b = GraphPhase::backward;
  std::vector<GraphOp> ops{{&mm, f, {}, {{0}}},
                           {&back, b, {0}, {{1}}},
                           {&mm, f, {}, {{2}}},
                           {&back, b, {2}, {{3}}},
                           {&add, b, {1, 3}, {{1}}}};
  for (std::size_t i = 2; i < ops.size(); ++i) ops[i].pass = pass;
  return ops;
}

// What a pass saved is not needed when a later pass adds to the gradients that were made of it:
// they are stored, not computed in the kernel that adds.
TEST(CompiledLives, EndWithTheirPass) {
  const auto last_of_product = [](std::uint32_t pass) {
    std::vector<GraphStorage> storages(4);
    const double bytes[] = {1000, 100, 3000, 300};
    for (std::size_t i = 0; i < storages.size(); ++i) storages[i].bytes.fixed_bytes = bytes[i];
    std::uint32_t last = 0;
    for (const Life& life : compiled_lives(added_up(pass), storages, Saving::cheapest)) {
      if (life.bytes.fixed_bytes == 1000) last = life.last;
    }
    return last;
  };
  EXPECT_EQ(last_of_product(1), 1U);
  EXPECT_EQ(last_of_product(0), 4U);  // one graph: one kernel makes 1 and adds 3
}

// A product makes 0. Of the backward pass one product makes the gradient 1 of a parameter of it,
// one makes 2 and one reads that. Where the gradient (1000) is larger than what its product is the
// last to read, it waits for the end of the pass, and so does what it is made of; else it is made
// at once.
TEST(CompiledLives, GradientsWaitWhereThatTakesLess) {
  const auto gradient_and_operand = [](double operand_bytes) {
    const OpRow& mm = op_row("aten::mm");
    const GraphPhase f = GraphPhase::forward, b = GraphPhase::backward;
    const std::vector<GraphOp> ops{
        {&mm, f, {}, {{0}}}, {&mm, b, {0}, {{1}}}, {&mm, b, {}, {{2}}}, {&mm, b, {2}, {}}};
    std::vector<GraphStorage> storages(3);
    storages[0].bytes.fixed_bytes = operand_bytes;
    storages[1] = {{1000, 0}, true};
    storages[2].bytes.fixed_bytes = 500;
    std::uint32_t made = 0, needed = 0;
    for (const Life& life : compiled_lives(ops, storages, Saving::cheapest)) {
      if (life.bytes.fixed_bytes == 1000) made = life.first;
      if (life.bytes.fixed_bytes == operand_bytes) needed = life.last;
    }
    return std::pair(made, needed);
  };
  EXPECT_EQ(gradient_and_operand(100), std::pair(3U, 3U));
  EXPECT_EQ(gradient_and_operand(2000), std::pair(1U, 1U));
}

// Two layers of products make 400, 100, 400 and 100 bytes, each from the one before it; between the
// two a rectifier makes 40 of the first 100 and a product 100 of it. Without reuse 500 are expected
// at most. The first 400 lives to operation 1; waiting for operation 4 takes 400 + 100 + 40 at
// operation 2: it does not. Of 300 bytes, with a further product of 400 that makes 500 the most
// elsewhere, it does: it lives up to operation 3.
TEST(CompiledLives, WaitForALaterValueOfTheirSize) {
  const auto lives_to = [](double wide) {
    const OpRow &mm = op_row("aten::mm"), &relu = op_row("aten::relu");
    const GraphPhase f = GraphPhase::forward;
    const std::vector<GraphOp> ops{
        {&mm, f, {}, {{0}}},  {&mm, f, {0}, {{1}}}, {&relu, f, {1}, {{2}}}, {&mm, f, {2}, {{3}}},
        {&mm, f, {3}, {{4}}}, {&mm, f, {4}, {{5}}}, {&mm, f, {5}, {{6}}},   {&mm, f, {6}, {{7}}}};
    const double bytes[] = {wide, 100, 40, 100, wide, 100, 400, 10};
    std::vector<GraphStorage> storages(8);
    for (std::size_t i = 0; i < storages.size(); ++i) storages[i].bytes.fixed_bytes = bytes[i];
    std::uint32_t last = 99;
    for (const Life& life : compiled_lives(ops, storages, Saving::cheapest)) {
      if (life.first == 0) last = life.last;
    }
    return last;
  };
  EXPECT_EQ(lives_to(400), 1U);
  EXPECT_EQ(lives_to(300), 3U);
}

// What a library kernel of the backward pass reads is in memory anyway.
TEST(CompiledLives, WhatALibraryKernelReadsLaterIsSaved) {
  std::vector<GraphOp> ops = squared_relu();
  ops[5].row = &op_row("aten::mm");
  const std::vector<bool> again = computed_again(ops, storages_of(1000, 2000));
  EXPECT_FALSE(again[2]);
}

}  // namespace
}  // namespace tandem
