// The Pareto front against its definition.
#include <gtest/gtest.h>

#include <random>

#include "sim/sweep/pareto.h"

namespace tandem {
namespace {

std::vector<std::size_t> by_definition(const std::vector<double>& x, const std::vector<double>& y,
                                       double sx, double sy) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const bool no_worse = sx * x[j] <= sx * x[i] && sy * y[j] <= sy * y[i];
      beaten |= no_worse && (x[j] != x[i] || y[j] != y[i]);
    }
    if (!beaten) front.push_back(i);
  }
  return front;
}

TEST(ParetoProperty, IsTheDefinition) {
  std::mt19937 random(4);
  int cases = 0;
  for (int round = 0; round < 200; ++round) {
    // Few different values: many ties.
    std::uniform_int_distribution<int> value(0, 2 + round % 9);
    std::vector<double> x, y;
    for (int i = 0; i < round % 40; ++i) x.push_back(value(random)), y.push_back(value(random));
    for (const Goal gx : {Goal::min, Goal::max}) {
      for (const Goal gy : {Goal::min, Goal::max}) {
        std::vector<std::size_t> front = pareto_front(x, y, gx, gy);
        std::sort(front.begin(), front.end());
        EXPECT_EQ(front, by_definition(x, y, gx == Goal::min ? 1 : -1, gy == Goal::min ? 1 : -1));
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, 800);
}

}  // namespace
}  // namespace tandem
