// A step as another execution mode would issue it. Sums in microseconds.
#include "models/runtime/modes.h"

#include <gtest/gtest.h>

#include "models/runtime/step_plan.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::PlanBuilder;
using test::round_host;
using test::TraceMaker;

enum Source : std::uint32_t { a_kernel, to_host, on_device, a_memset, pageable };

/// One activity of each kind that modes tell apart.
TraceMaker sources() {
  TraceMaker m;
  m.kernel(0, 1, -1);
  m.activity(ActivityKind::memcpy, "Memcpy DtoH (Device -> Pinned)", 2, 1, -1);
  m.activity(ActivityKind::memcpy, "Memcpy DtoD (Device -> Device)", 4, 1, -1);
  m.activity(ActivityKind::memset, "Memset (Device)", 6, 1, -1);
  m.activity(ActivityKind::memcpy, "Memcpy HtoD (Pageable -> Device)", 8, 1, -1);
  return m;
}

struct OneStep : PlanBuilder {
  explicit OneStep(int threads = 1) : PlanBuilder(threads) { marker(ItemKind::step_begin); }
  std::uint32_t launch_of(Source source, double gap_us = 6, int thread = 0) {
    const std::uint32_t i = launch(gap_us, 4, {.us = 10}, thread);
    plan.works.back().source = source;
    return i;
  }
  LossList apply(Mode mode, GraphScope scope = GraphScope::step) {
    LossList losses;
    apply_mode(sources().trace, round_host(), {mode, scope}, plan, losses);
    return losses;
  }
  Duration period() const {
    constexpr std::size_t count = 6;
    return steady_period(plan, simulate(repeat(plan, count, round_host())), count);
  }
};

/// Every piece of work is named by the item that launches it, in order.
void expect_consistent(const Plan& plan) {
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (item.after != no_index) {
      EXPECT_LT(item.after, i);
    }
    for (std::uint32_t k = 0; k < item.work_count; ++k) {
      EXPECT_EQ(item.first_work + k, next);
      EXPECT_EQ(plan.works[next++].item, i);
    }
  }
  EXPECT_EQ(next, plan.works.size());
}

TEST(Modes, AsTracedChangesNothing) {
  OneStep s;
  s.launch_of(a_kernel);
  s.plan.items[1].wait = WaitFor::own_work;
  EXPECT_TRUE(s.apply(Mode::as_traced).all().empty());
  EXPECT_EQ(s.plan.items[1].wait, WaitFor::own_work);
}

TEST(Modes, EagerSyncWaitsForEveryKernel) {
  OneStep s;
  s.launch_of(a_kernel);
  s.launch_of(a_kernel);
  s.marker(ItemKind::step_end);
  EXPECT_EQ(s.period(), from_us(22));  // before: 10 + 1 on the device, twice
  s.apply(Mode::eager_sync);
  EXPECT_EQ(s.period(), from_us(50));  // gap 6, call 4, latency 2, kernel 10, return 3; twice
}

TEST(Modes, EagerSyncWaitsForDeviceCopiesButNotForMemsetsAndHostCopies) {
  OneStep s;
  for (const Source source : {a_kernel, to_host, on_device, a_memset}) s.launch_of(source);
  s.apply(Mode::eager_sync);
  EXPECT_EQ(s.plan.items[1].wait, WaitFor::own_work);
  EXPECT_EQ(s.plan.items[1].return_delay, from_us(3));
  EXPECT_EQ(s.plan.items[2].wait, WaitFor::nothing);
  EXPECT_EQ(s.plan.items[3].wait, WaitFor::own_work);
  EXPECT_EQ(s.plan.items[4].wait, WaitFor::nothing);
}

TEST(Modes, EagerAsyncFreesBlockingLaunchesOnly) {
  OneStep s;
  s.launch_of(a_kernel);
  s.launch_of(to_host);
  s.sync(0, 2, 5, 0);
  for (HostItem& item : s.plan.items) {
    if (item.kind == ItemKind::launch) item.wait = WaitFor::own_work;
  }
  s.apply(Mode::eager_async);
  EXPECT_EQ(s.plan.items[1].wait, WaitFor::nothing);
  EXPECT_EQ(s.plan.items[2].wait, WaitFor::own_work);  // a blocking copy stays one
  EXPECT_EQ(s.plan.items[3].wait, WaitFor::work);      // so does a synchronisation
}

// What the host waits for before a graph, it waits for before the first of its nodes, once.
TEST(Modes, EagerNodesOfAGraphWaitForInputOnce) {
  OneStep s(2);
  const std::uint32_t first = s.call(1, 1, 1);
  const std::uint32_t graph = s.graph(30, 5, {{.us = 10}, {.us = 10}, {.us = 10}});
  HostItem& item = s.plan.items[graph];
  item.input = from_us(20);
  item.after = first;
  item.wake = from_us(3);
  item.own_gap = true;
  s.apply(Mode::eager_async);
  ASSERT_EQ(s.plan.items.size(), 5u);
  EXPECT_EQ(s.plan.items[graph].gap, from_us(30 + 12 - 4));  // of a launch of 12 the call takes 4
  EXPECT_EQ(s.plan.items[graph].input, from_us(20));
  EXPECT_EQ(s.plan.items[graph].after, first);
  for (std::uint32_t i = graph + 1; i < s.plan.items.size(); ++i) {
    EXPECT_EQ(s.plan.items[i].gap, from_us(12 - 4));
    EXPECT_EQ(s.plan.items[i].input, Duration::zero());
    EXPECT_EQ(s.plan.items[i].wake, Duration::zero());
    EXPECT_EQ(s.plan.items[i].after, no_index);
    EXPECT_FALSE(s.plan.items[i].own_gap);
  }
  expect_consistent(s.plan);
}

TEST(Modes, SyncAndBackIsTheSameStep) {
  OneStep s;
  for (int i = 0; i < 4; ++i) s.launch_of(a_kernel);
  const Duration before = s.period();
  s.apply(Mode::eager_sync);
  EXPECT_GT(s.period(), before);
  s.apply(Mode::eager_async);
  EXPECT_EQ(s.period(), before);
}

TEST(Modes, CudaGraphPutsTheWholeStepBehindOneLaunch) {
  OneStep s;
  for (int i = 0; i < 4; ++i) s.launch_of(a_kernel, 50);
  s.marker(ItemKind::step_end);
  EXPECT_TRUE(s.apply(Mode::cuda_graph).all().empty());
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 2u);
  EXPECT_EQ(s.plan.items[0].kind, ItemKind::step_begin);
  EXPECT_EQ(s.plan.items[1].kind, ItemKind::graph_launch);
  EXPECT_EQ(s.plan.items[1].work_count, 4u);
  EXPECT_EQ(s.plan.items[1].call, from_us(4.5));  // 2.5 + 4 * 0.5
  for (const DeviceWork& work : s.plan.works) EXPECT_TRUE(work.graph_node);
  EXPECT_FALSE(s.plan.works[2].takes_slot);
  EXPECT_TRUE(s.plan.works[3].takes_slot);
  EXPECT_EQ(s.period(), from_us(49.5));  // 4 * 10 + 8 + 3 * 0.5
}

TEST(Modes, CudaGraphCapturesEveryStretchWithoutAWait) {
  OneStep s;
  s.launch_of(a_kernel);
  s.launch_of(a_kernel);
  s.sync(0, 2, 5, 1);
  s.launch_of(a_kernel);
  const std::uint32_t last = s.launch_of(a_kernel);
  s.plan.items[last].after = last - 1;
  s.marker(ItemKind::step_end);
  const LossList losses = s.apply(Mode::cuda_graph);
  EXPECT_EQ(losses.count("graph_split_at_waits"), 1);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 4u);  // begin, graph, sync, graph
  EXPECT_EQ(s.plan.items[1].work_count, 2u);
  EXPECT_EQ(s.plan.items[2].kind, ItemKind::sync);
  EXPECT_EQ(s.plan.items[2].wait_work, 1u);
  EXPECT_EQ(s.plan.items[3].kind, ItemKind::graph_launch);
  EXPECT_EQ(s.plan.items[3].work_count, 2u);
  const std::vector<GraphPiece> pieces = graph_pieces(s.plan);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].apart, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(pieces[1].apart.empty());
  // From the return of the synchronisation: the second graph is launched for 2.5 + 2 * 0.5, begins
  // 2 later and takes 20.5; the first one 8 behind it takes 20.5, and the host returns after 5.
  EXPECT_EQ(s.period(), from_us(59.5));
}

TEST(Modes, CudaGraphLeavesStretchesWithoutWorkAsTheyAre) {
  OneStep s;
  s.launch_of(a_kernel);
  s.sync(0, 2, 5, 0);
  s.plan.items[s.call(30, 1)].source = 0;  // the loop's own code after the wait
  s.marker(ItemKind::step_end);
  s.apply(Mode::cuda_graph);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 5u);
  EXPECT_EQ(s.plan.items[3].gap, from_us(30));
}

TEST(Modes, CudaGraphKeepsACopyThatWaitsBetweenGraphs) {
  OneStep s;
  s.launch_of(a_kernel);
  const std::uint32_t copy = s.launch_of(to_host);
  s.plan.items[copy].wait = WaitFor::own_work;
  s.launch_of(a_kernel);
  s.apply(Mode::cuda_graph);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 4u);  // begin, graph, copy, graph
  EXPECT_EQ(s.plan.items[2].kind, ItemKind::launch);
  EXPECT_FALSE(s.plan.works[1].graph_node);
  EXPECT_TRUE(s.plan.works[2].graph_node);
}

TEST(Modes, CudaGraphLeavesCopiesOfPageableMemoryEager) {
  OneStep s;
  s.launch_of(pageable);
  s.launch_of(a_kernel);
  s.apply(Mode::cuda_graph);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 3u);
  EXPECT_EQ(s.plan.items[1].kind, ItemKind::launch);
  EXPECT_FALSE(s.plan.works[0].graph_node);
  EXPECT_TRUE(s.plan.works[1].graph_node);
}

TEST(Modes, CudaGraphIsLaunchedAfterTheWaitOfAnotherThread) {
  OneStep s(2);
  s.launch_of(a_kernel, 6, 0);
  s.sync(0, 2, 5, 0, 1);
  s.plan.items[2].after = 1;
  s.launch_of(a_kernel, 6, 1);
  s.apply(Mode::cuda_graph);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 4u);
  EXPECT_EQ(s.plan.items[2].after, 1u);
  EXPECT_EQ(s.plan.items[3].thread, 0u);
  EXPECT_EQ(s.plan.items[3].after, 2u);
}

TEST(Modes, CudaGraphIgnoresWaitsOfBystanders) {
  OneStep s(2);
  s.launch_of(a_kernel, 6, 0);
  s.sync(0, 2, 5, no_index, 1);  // a thread that launches nothing and hands nothing over
  s.launch_of(a_kernel, 6, 0);
  EXPECT_EQ(s.apply(Mode::cuda_graph).count("graph_split_at_waits"), 0);
  expect_consistent(s.plan);
  EXPECT_EQ(s.plan.items[1].work_count, 2u);
}

TEST(Modes, CudaGraphIsNotEndedByBlockingLaunches) {
  OneStep s;
  s.launch_of(a_kernel);
  s.plan.items[1].wait = WaitFor::own_work;
  s.launch_of(a_kernel);
  EXPECT_EQ(s.apply(Mode::cuda_graph).count("graph_split_at_waits"), 0);
  EXPECT_EQ(s.plan.items[1].work_count, 2u);
}

/// Forward, backward on the autograd thread, and an optimizer.
OneStep training_step() {
  OneStep s(2);
  s.launch_of(a_kernel, 6, 0);
  const std::uint32_t backward = s.launch_of(a_kernel, 6, 1);
  s.plan.items[backward].after = backward - 1;
  const std::uint32_t optimizer = s.launch_of(a_kernel, 6, 0);
  s.plan.items[optimizer].after = backward;
  s.marker(ItemKind::step_end);
  return s;
}

TEST(Modes, CudaGraphOfForwardAndBackwardLeavesTheOptimizerToTheHost) {
  OneStep s = training_step();
  s.apply(Mode::cuda_graph, GraphScope::forward_backward);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 4u);
  ASSERT_EQ(s.plan.works.size(), 3u);
  EXPECT_EQ(s.plan.items[1].kind, ItemKind::graph_launch);
  EXPECT_EQ(s.plan.items[1].work_count, 2u);
  EXPECT_EQ(s.plan.items[2].kind, ItemKind::launch);
  EXPECT_EQ(s.plan.items[2].after, 1u);  // what it followed is in the graph
  EXPECT_FALSE(s.plan.works[2].graph_node);
  EXPECT_GT(s.period(), from_us(38.5));  // three kernels of 10, the graph's gaps of 8 and 0.5
}

// Two networks in turns, each with an optimizer of its own, as those that compete have them: the
// first update stands between the backward passes.
TEST(Modes, CudaGraphsOfForwardAndBackwardLeaveEveryOptimizerToTheHost) {
  OneStep s(2);
  TraceMaker m = sources();
  for (int network = 0; network < 2; ++network) {
    for (const int thread : {0, 1, 0}) {  // forward, backward, update
      s.plan.items[s.launch_of(a_kernel, 6, thread)].source =
          m.call("cudaLaunchKernel", 100 * static_cast<double>(m.trace.calls.size()), 5);
    }
    m.note("Optimizer.step#Adam.step", 300 * network + 190, 50);  // around the third call
  }
  s.marker(ItemKind::step_end);
  LossList losses;
  apply_mode(m.trace, round_host(), {Mode::cuda_graph, GraphScope::forward_backward}, s.plan,
             losses);
  expect_consistent(s.plan);
  std::vector<std::uint32_t> works;  // of each launch, graphs with a hundred more
  for (const HostItem& item : s.plan.items) {
    if (item.work_count == 0) continue;
    works.push_back(item.work_count + (item.kind == ItemKind::graph_launch ? 100 : 0));
  }
  EXPECT_EQ(works, (std::vector<std::uint32_t>{102, 1, 102, 1}));
}

TEST(Modes, CudaGraphOfForwardAndBackwardOnlyDropsTheRest) {
  OneStep s = training_step();
  const LossList losses = s.apply(Mode::cuda_graph, GraphScope::forward_backward_only);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 2u);
  ASSERT_EQ(s.plan.works.size(), 2u);
  EXPECT_EQ(losses.count("graph_split_at_waits"), 0);
  EXPECT_EQ(s.period(), from_us(28.5));  // 2 * 10 + 8 + 0.5
}

TEST(Modes, CudaGraphOfAStepThatWaitsFirstCapturesTheRest) {
  OneStep s;
  s.sync(0, 2, 5, no_index);
  s.launch_of(a_kernel);
  EXPECT_EQ(s.apply(Mode::cuda_graph).count("graph_captures_nothing"), 0);
  ASSERT_EQ(s.plan.items.size(), 3u);
  EXPECT_EQ(s.plan.items[1].kind, ItemKind::sync);
  EXPECT_TRUE(s.plan.works[0].graph_node);
}

TEST(Modes, CudaGraphOfAStepWithoutLaunchesCapturesNothing) {
  OneStep s;
  s.sync(0, 2, 5, no_index);
  EXPECT_EQ(s.apply(Mode::cuda_graph).count("graph_captures_nothing"), 1);
  EXPECT_EQ(s.plan.items.size(), 2u);
}

// A compiler's graph stands where the trace launches a kernel: it is no graph of the program, which
// eager execution would not have.
TEST(Modes, EagerKeepsTheGraphsOfACompiler) {
  TraceMaker m = sources();
  OneStep s;
  const std::vector<test::WorkSpec> nodes{{.us = 5, .gap_us = 8}, {.us = 5, .gap_us = 0.25}};
  s.graph(7, 3, nodes);
  s.plan.items[1].source = m.call("cudaLaunchKernel", 100, 5);
  LossList losses;
  apply_mode(m.trace, round_host(), {Mode::eager_async, GraphScope::step}, s.plan, losses);
  EXPECT_EQ(losses.count("graph_expanded_to_eager"), 0);
  EXPECT_EQ(s.plan.items[1].kind, ItemKind::graph_launch);
  s.plan.items[1].source = m.call("cudaGraphLaunch", 200, 5);
  apply_mode(m.trace, round_host(), {Mode::eager_async, GraphScope::step}, s.plan, losses);
  EXPECT_EQ(losses.count("graph_expanded_to_eager"), 2);
}

TEST(Modes, EagerExpandsGraphs) {
  OneStep s;
  const std::vector<test::WorkSpec> nodes{{.us = 5, .gap_us = 8}, {.us = 5, .gap_us = 0.25}};
  s.graph(7, 3, nodes);
  s.launch_of(a_kernel);
  s.plan.items[2].after = 1;
  const LossList losses = s.apply(Mode::eager_async);
  EXPECT_EQ(losses.count("graph_expanded_to_eager"), 2);
  expect_consistent(s.plan);
  ASSERT_EQ(s.plan.items.size(), 4u);
  for (const std::uint32_t i : {1U, 2U}) {
    EXPECT_EQ(s.plan.items[i].kind, ItemKind::launch);
    EXPECT_EQ(s.plan.items[i].call, from_us(4));
  }
  EXPECT_EQ(s.plan.items[1].gap, from_us(15));  // 12 - 4 and the graph's own 7
  EXPECT_EQ(s.plan.items[2].gap, from_us(8));
  EXPECT_EQ(s.plan.items[3].after, 2u);  // the last launch of the former graph
  EXPECT_FALSE(s.plan.works[0].graph_node);
  EXPECT_TRUE(s.plan.works[0].takes_slot);
  EXPECT_EQ(s.plan.works[0].gap, from_us(1));
  EXPECT_EQ(s.plan.works[0].latency, from_us(2));
}

TEST(Modes, GraphAndBackIsConsistent) {
  OneStep s(2);
  for (int i = 0; i < 4; ++i) s.launch_of(a_kernel, 6, i % 2);
  s.apply(Mode::cuda_graph);
  s.apply(Mode::eager_sync);
  expect_consistent(s.plan);
  EXPECT_EQ(s.plan.items.size(), 5u);
}

TEST(Modes, HaveNamesThatParse) {
  for (const Mode mode : {Mode::as_traced, Mode::eager_async, Mode::eager_sync, Mode::cuda_graph}) {
    EXPECT_EQ(parse_named(modes(), to_string(mode), "command line", "--mode"), mode);
  }
  try {
    parse_named(modes(), "Eager", "command line", "--mode");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "command line:--mode: found \"Eager\", expected one of: as-traced, eager-async, "
                 "eager-sync, cuda-graph; did you mean eager-async?");
  }
}

}  // namespace
}  // namespace tandem
