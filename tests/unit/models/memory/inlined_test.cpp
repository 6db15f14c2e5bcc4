// Which results of generated code have no buffer of their own, and which one of another width.
#include "models/memory/inlined.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/memory/compiled_lives.h"

namespace tandem {
namespace {

constexpr GraphPhase f = GraphPhase::forward;

std::vector<GraphStorage> halves(std::size_t count, double bytes) {
  std::vector<GraphStorage> out(count);
  for (GraphStorage& s : out) s.bytes.fixed_bytes = bytes, s.type = DataType::fp16;
  return out;
}

/// The value that an operation of `ops` makes.
GraphValue made_by(std::uint32_t op, const std::vector<GraphOp>& ops,
                   const std::vector<GraphStorage>& storages, Saving saving = Saving::cheapest) {
  const GraphValues graph = graph_values(ops, storages, saving);
  return graph.values[graph.outputs[op].front()];
}

/// `terms` products, the sum of them all, a rectifier of it and, behind a product with what that
/// made, another sum with it: two read the first sum, at two levels.
std::vector<GraphOp> residual(std::uint32_t terms) {
  const OpRow &mm = op_row("aten::mm"), &add = op_row("aten::add"), &relu = op_row("aten::relu");
  std::vector<GraphOp> ops;
  std::vector<std::uint32_t> all;
  for (std::uint32_t t = 0; t < terms; ++t) {
    ops.push_back({&mm, f, {}, {{t}}});
    all.push_back(t);
  }
  ops.push_back({&add, f, all, {{terms}}});
  ops.push_back({&relu, f, {terms}, {{terms + 1}}});
  ops.push_back({&mm, f, {terms + 1}, {{terms + 2}}});
  ops.push_back({&add, f, {terms, terms + 2}, {{terms + 3}}});
  ops.push_back({&mm, f, {terms + 3}, {}});
  return ops;
}

// Four buffers are read again for each of two readers, five are not.
TEST(Inlined, SumsOfFewBuffersHaveNoneOfTheirOwn) {
  EXPECT_TRUE(made_by(4, residual(4), halves(8, 100)).inlined);
  EXPECT_FALSE(made_by(5, residual(5), halves(9, 100)).inlined);
}

// Of one reader eight are, of a value that a product reads none.
TEST(Inlined, OfOneReaderItMayBeEight) {
  const auto once = [](std::uint32_t terms) {
    std::vector<GraphOp> ops = residual(terms);
    ops[terms + 3].reads = {terms + 2};
    return made_by(terms, ops, halves(terms + 4, 100));
  };
  EXPECT_TRUE(once(8).inlined);
  EXPECT_FALSE(once(9).inlined);
  EXPECT_FALSE(made_by(5, residual(4), halves(8, 100)).inlined);  // the rectifier's, for a product
}

// The parts of a sum that has no buffer live until the last reader has read them, the second sum
// (operation 7). A sum of five has a buffer and takes the place of the first of them at
// operation 5.
TEST(Inlined, WhatASumIsMadeOfLivesOn) {
  const auto lives_to = [](std::uint32_t terms) {
    std::uint32_t last = 0;
    for (const Life& life :
         compiled_lives(residual(terms), halves(terms + 4, 100), Saving::cheapest)) {
      if (life.first == 0) last = std::max(last, life.last);
    }
    return last;
  };
  EXPECT_EQ(lives_to(4), 7U);
  EXPECT_EQ(lives_to(5), 4U);
}

/// A layer, a norm of it and an activation, which another layer reads and is multiplied with.
std::vector<GraphOp> gated(const char* activation) {
  const OpRow &conv = op_row("aten::conv2d"), &norm = op_row("aten::batch_norm"),
              &mul = op_row("aten::mul");
  return {{&conv, f, {}, {{0}}},  {&norm, f, {0}, {{1}}},   {&op_row(activation), f, {1}, {{2}}},
          {&conv, f, {2}, {{3}}}, {&mul, f, {2, 3}, {{4}}}, {&conv, f, {4}, {}}};
}

// x * sigmoid(x) reads the norm twice, which reads five buffers itself: the norm has a buffer, of
// FP32, for both compute in it. A rectifier reads it once and computes in 16 bits.
TEST(Inlined, ANormBeforeAnActivationStaysWide) {
  EXPECT_TRUE(made_by(1, gated("aten::silu"), halves(5, 100)).wide);
  EXPECT_FALSE(made_by(1, gated("aten::relu"), halves(5, 100)).wide);
  std::vector<GraphStorage> full = halves(5, 100);
  for (GraphStorage& s : full) s.type = DataType::fp32;
  EXPECT_FALSE(made_by(1, gated("aten::silu"), full).wide);
}

// TorchInductor's rules are not XLA's.
TEST(Inlined, OnlyWhereTheCheapestIsSaved) {
  EXPECT_FALSE(made_by(4, residual(4), halves(8, 100), Saving::least).inlined);
  EXPECT_FALSE(made_by(1, gated("aten::silu"), halves(5, 100), Saving::least).wide);
}

// A softmax takes the place of its scores unless its rows lie further apart than theirs: 300 bytes
// at once, or 600.
TEST(Inlined, PaddedRowsTakeNobodysPlace) {
  const auto most = [](bool padded) {
    const OpRow &mm = op_row("aten::bmm"), &softmax = op_row("aten::_softmax");
    const std::vector<GraphOp> ops{
        {&mm, f, {}, {{0}}}, {&softmax, f, {0}, {{1, false, padded}}}, {&mm, f, {1}, {{2}}}};
    std::vector<GraphStorage> storages = halves(3, 300);
    storages[2].bytes.fixed_bytes = 0;
    return worst_bytes(worst_moments(compiled_lives(ops, storages, Saving::cheapest), ops.size()));
  };
  EXPECT_EQ(most(false), 300);
  EXPECT_EQ(most(true), 600);
}

}  // namespace
}  // namespace tandem
