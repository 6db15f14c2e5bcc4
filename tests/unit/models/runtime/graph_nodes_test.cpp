#include "models/runtime/graph_nodes.h"

#include <gtest/gtest.h>

#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::PlanBuilder;
using test::round_host;
using test::TraceMaker;

/// Rows of a trace: a kernel of 1,000 blocks of 128 threads (more than round_host's 100,000
/// threads), one of 10 blocks, a memset.
struct Rows {
  enum Row : std::uint32_t { large, small, memset };
  Trace trace = [] {
    TraceMaker m;
    m.kernel(0, 10, 1);
    m.kernel(10, 10, 1);
    m.activity(ActivityKind::memset, "Memset (Device)", 20, 1, 1);
    m.trace.geometries = {{{1000, 1, 1}, {128, 1, 1}}, {{10, 1, 1}, {128, 1, 1}}};
    m.trace.activities.geometry[large] = GeometryId{std::size_t{0}};
    m.trace.activities.geometry[small] = GeometryId{std::size_t{1}};
    return m.trace;
  }();
};

/// A graph of these nodes, gaps of 2 us each, and what becomes of the gaps.
std::vector<Duration> gaps_without_profiler(const std::vector<std::uint32_t>& sources,
                                            const std::vector<int>& streams = {}) {
  const Rows rows;
  PlanBuilder b(1, 2);
  std::vector<test::WorkSpec> nodes(sources.size(), {.us = 10, .gap_us = 2});
  for (std::size_t k = 0; k < streams.size(); ++k) nodes[k].stream = streams[k];
  const std::uint32_t launch = b.graph(0, 1, nodes);
  for (std::size_t k = 0; k < sources.size(); ++k) b.plan.works[k].source = sources[k];
  remove_profiler_from_nodes(rows.trace, round_host(), b.plan.items[launch], b.plan.works);
  std::vector<Duration> gaps;
  for (const DeviceWork& work : b.plan.works) {
    EXPECT_EQ(work.far_gap, work.gap);
    gaps.push_back(work.gap);
  }
  return gaps;
}

TEST(GraphNodes, AKernelThatFillsTheGpuHidesWhatComesBeforeTheNext) {
  // Behind the large kernel 2 - 0.25; behind the small one as traced; the first has none before it.
  EXPECT_EQ(gaps_without_profiler({Rows::large, Rows::small, Rows::large}),
            (std::vector<Duration>{from_us(2), from_us(1.75), from_us(2)}));
}

TEST(GraphNodes, WhatFollowsAMemsetStartsEarlier) {
  // 2 - 0.5 behind the memset; a kernel hides nothing of a memset.
  EXPECT_EQ(gaps_without_profiler({Rows::large, Rows::memset, Rows::small}),
            (std::vector<Duration>{from_us(2), from_us(2), from_us(1.5)}));
}

TEST(GraphNodes, WhatRunsOnAnotherStreamHidesNothing) {
  EXPECT_EQ(gaps_without_profiler({Rows::large, Rows::small, Rows::small}, {0, 1, 0}),
            (std::vector<Duration>{from_us(2), from_us(2), from_us(1.75)}));
}

TEST(GraphNodes, MadeNodesFollowEachOtherAsThoseOfAGraphDo) {
  const Rows rows;
  PlanBuilder b;
  const std::uint32_t i = b.graph(0, 1, std::vector<test::WorkSpec>(4));
  for (const std::uint32_t w : {0u, 1u, 2u, 3u}) {
    b.plan.works[w].graph_node = false;
    b.plan.works[w].source = std::array{Rows::large, Rows::small, Rows::memset, Rows::small}[w];
  }
  make_nodes(rows.trace, round_host(), b.plan.items[i], b.plan.works);
  EXPECT_EQ(b.plan.items[i].call, from_us(4.5));  // 2.5 + 4 * 0.5
  for (const DeviceWork& work : b.plan.works) EXPECT_TRUE(work.graph_node);
  EXPECT_FALSE(b.plan.works[2].takes_slot);
  EXPECT_TRUE(b.plan.works[3].takes_slot);
  EXPECT_EQ(b.plan.works[0].gap, from_us(8));     // graph to graph
  EXPECT_EQ(b.plan.works[1].gap, from_us(0.25));  // 0.5 - 0.25
  EXPECT_EQ(b.plan.works[2].gap, from_us(1));     // before a memset
  EXPECT_EQ(b.plan.works[3].gap, from_us(0.5));   // behind it: 1 - 0.5
}

}  // namespace
}  // namespace tandem
