// Cuts of small graphs.
#include "models/memory/min_cut.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tandem {
namespace {

TEST(MinCut, TakesTheCheapestWayAcross) {
  // 0 -> 1 (5), 1 -> 2 (3), 0 -> 2 (1), 2 -> 3 (9): 3 + 1 is cheaper than 5 + 1 and than 9.
  MinCut graph(4);
  graph.add_edge(0, 1, 5);
  graph.add_edge(1, 2, 3);
  graph.add_edge(0, 2, 1);
  graph.add_edge(2, 3, 9);
  EXPECT_EQ(graph.source_side(0, 3), (std::vector<bool>{true, true, false, false}));
}

TEST(MinCut, FlowGoesBackWhereThatHelps) {
  // The first path 0-1-2-3 blocks both others; each edge holds 1, so two paths leave 0 and nothing
  // is left of it.
  MinCut graph(4);
  for (const auto& [from, to] : {std::pair{0U, 1U}, {0U, 2U}, {1U, 2U}, {1U, 3U}, {2U, 3U}}) {
    graph.add_edge(from, to, 1);
  }
  EXPECT_EQ(graph.source_side(0, 3), (std::vector<bool>{true, false, false, false}));
}

TEST(MinCut, WhatNothingReachesIsBeyond) {
  MinCut graph(3);
  graph.add_edge(0, 1, MinCut::unlimited);
  EXPECT_EQ(graph.source_side(0, 2), (std::vector<bool>{true, true, false}));
}

}  // namespace
}  // namespace tandem
