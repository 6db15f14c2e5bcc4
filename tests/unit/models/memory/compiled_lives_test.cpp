// What compiled code saves for the backward pass and what it computes again.
#include "models/memory/compiled_lives.h"

#include <gtest/gtest.h>

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

// What a library kernel of the backward pass reads is in memory anyway.
TEST(CompiledLives, WhatALibraryKernelReadsLaterIsSaved) {
  std::vector<GraphOp> ops = squared_relu();
  ops[5].row = &op_row("aten::mm");
  const std::vector<bool> again = computed_again(ops, storages_of(1000, 2000));
  EXPECT_FALSE(again[2]);
}

}  // namespace
}  // namespace tandem
