// The alignment against the definition of what it maximises.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/counters/align.h"

namespace tandem {
namespace {

struct Matrix {
  std::size_t rows, columns;
  std::vector<float> values;
  float operator()(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

Matrix random_matrix(std::mt19937& random) {
  Matrix m{random() % 24, random() % 24, {}};
  std::uniform_int_distribution<int> value(-8, 7);
  for (std::size_t i = 0; i < m.rows * m.columns; ++i) {
    m.values.push_back(0.5F * static_cast<float>(value(random)));
  }
  return m;
}

/// What it costs to go on with pair `to` after pair `from`.
double cost(const AlignedPair& from, const AlignedPair& to, AlignmentCosts costs) {
  if (to.column <= from.column) return costs.restart;
  const double passed = to.row - from.row - 1 + (to.column - from.column - 1);
  return std::min(costs.restart, costs.gap * passed);
}

/// Best chain of pairs, each after every other one above it: quadratic in the number of pairs.
double best_score(const Matrix& m, AlignmentCosts costs) {
  std::vector<AlignedPair> pairs;
  std::vector<double> best;
  double all = 0;
  for (std::uint32_t r = 0; r < m.rows; ++r) {
    for (std::uint32_t c = 0; c < m.columns; ++c) {
      double before = 0;
      for (std::size_t i = 0; i < pairs.size() && pairs[i].row < r; ++i) {
        before = std::max(before, best[i] - cost(pairs[i], {r, c}, costs));
      }
      pairs.push_back({r, c});
      best.push_back(before + m(r, c));
      all = std::max(all, best.back());
    }
  }
  return all;
}

TEST(MatchAlignProperty, ReachesTheBestScore) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Matrix m = random_matrix(random);
    const AlignmentCosts costs{0.5 * (1 + random() % 4), 1.0 + random() % 12};
    const Alignment found = align(m.rows, m.columns, m, costs);
    EXPECT_DOUBLE_EQ(found.score, best_score(m, costs));
    double score = 0;
    for (std::size_t p = 0; p < found.pairs.size(); ++p) {
      score += m(found.pairs[p].row, found.pairs[p].column);
      if (p == 0) continue;
      EXPECT_LT(found.pairs[p - 1].row, found.pairs[p].row);
      score -= cost(found.pairs[p - 1], found.pairs[p], costs);
    }
    EXPECT_DOUBLE_EQ(score, found.score);
  }
}

}  // namespace
}  // namespace tandem
