// Compiled graphs of a model that several ranks train: what their cuts cost, where they come and
// where they go. Times in microseconds.
#include "models/whatif/ranks/cut_graphs.h"

#include <gtest/gtest.h>

#include "models/whatif/ranks/alone.h"
#include "models/whatif/ranks/bucket_cuts.h"
#include "models/whatif/ranks/data_parallel.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

constexpr std::string_view node_range =
    "autograd::engine::evaluate_function: CompiledFunctionBackward";

Step step_of(const TraceMaker& m) { return analyse(m.trace, test::as_traced()).traced_step; }

class Compiled {
 public:
  /// A launch of 5 with its kernel.
  void launch(double begin, std::size_t thread = 0) {
    m.launch(begin, 5, ++launches_, thread);
    m.kernel(begin + 7, 2, launches_);
  }
  /// A call of a graph of 35 that launches after 10 and after 20. Its row.
  std::uint32_t call(double begin, std::int64_t node) {
    const auto row = m.op("CompiledFunction", begin, 35);
    m.trace.ops.sequence[row] = node;
    launch(begin + 10);
    launch(begin + 20);
    return row;
  }
  /// The same of its node, of 31, in a range of the engine that begins 2 before it and ends 2
  /// behind.
  void node(double begin, std::int64_t node, int count = 2) {
    m.op(node_range, begin - 2, 35, 1);
    const auto row = m.op("CompiledFunctionBackward", begin, 31, 1);
    m.trace.ops.sequence[row] = node;
    m.trace.ops.forward_thread[row] = 1;
    for (int k = 0; k < count; ++k) launch(begin + 8 + 20.0 * k / count, 1);
  }

  TraceMaker m;

 private:
  std::int64_t launches_ = 0;
};

/// Two pieces of one frame, which the frame of DistributedDataParallel calls, and their nodes.
Step two_pieces() {
  Compiled c;
  c.m.step(0, 0, 260);
  c.launch(2);
  c.m.op("Torch-Compiled Region: 0/0", 10, 125);
  c.m.op("Torch-Compiled Region: 4/0", 20, 100);
  c.call(25, 1);   // launches at 35 and 45
  c.call(70, 2);   // 80 and 90
  c.node(150, 2);  // 158 and 168, its range to 183
  c.node(210, 1);  // from 208; 218 and 228
  return step_of(c.m);
}

// Between two calls of a piece lie 5. Forward, from the end of the first piece's last launch (50)
// to 5 before the next one's first (80); backward, from 173 to the end of the range (183) and from
// the next range (208) to 5 before 218. The outer frame works from 10 to 20 and from 120 to 135.
TEST(CutGraphs, SpendTimeBetweenThePiecesOfAFrame) {
  const Step step = two_pieces();
  const CutSpans spans = spans_of_cuts(step, nest_ops(step.trace, step.links));
  EXPECT_EQ(spans.cuts, 2);
  const auto sum = [&](std::size_t thread) {
    double us = 0;
    for (const HostSpan& s : spans.of_thread[thread]) us += to_us(s.end - s.begin);
    return us;
  };
  EXPECT_NEAR(sum(0), (75 - 50) + 10 + 15, 1e-6);
  EXPECT_NEAR(sum(1), (183 - 173) + (213 - 208), 1e-6);
}

// The second piece's first launch comes 30 behind the launch before, 25 of it for the cut; the
// first one's 28 behind, 10 of it in the outer frame; that of the second node 45, 15 for the cut.
TEST(CutGraphs, JoinWhereTheModelTrainsAlone) {
  const Step step = two_pieces();
  AloneReport alone;
  const Step out = without_collectives(step, 5, alone);
  EXPECT_EQ(alone.joined, 2);
  EXPECT_EQ(alone.dropped, 0);
  ASSERT_EQ(out.plan.works.size(), step.plan.works.size());
  const auto gap = [&](std::uint32_t work) {
    return to_us(out.plan.items[out.plan.works[work].item].gap);
  };
  EXPECT_NEAR(gap(1), 28 - 10, 1e-6);
  EXPECT_NEAR(gap(2), 5, 1e-6);
  EXPECT_NEAR(gap(3), 30 - 25, 1e-6);
  EXPECT_NEAR(gap(7), 45 - 15, 1e-6);
}

// Where Python leaves a graph, each has a frame of its own: nothing joins them.
TEST(CutGraphs, OfFramesOfTheirOwnStay) {
  Compiled c;
  c.m.step(0, 0, 200);
  c.m.op("Torch-Compiled Region: 0/0", 20, 45);
  c.call(25, 1);
  c.m.op("Torch-Compiled Region: 1/0", 66, 45);
  c.call(70, 2);
  const Step step = step_of(c.m);
  EXPECT_EQ(spans_of_cuts(step, nest_ops(step.trace, step.links)).cuts, 0);
}

/// A compiled step of one graph, whose backward pass launches four kernels, and whose parameters
/// are of 2, 4 and 8 MiB in the order of the forward pass; `buffers`: further operands.
Step alone_compiled(std::string_view buffers = "", std::string_view types = "") {
  Compiled c;
  c.m.step(0, 0, 260);
  c.launch(2);
  c.m.op("Torch-Compiled Region: 0/0", 20, 45);
  const auto row = c.call(25, 1);
  c.m.operands(row, {"[[512,1024],[1024,1024],[2048,1024]" + std::string(buffers) + "]",
                     R"(["float","float","float")" + std::string(types) + "]", "", ""});
  c.node(150, 1, 4);
  double begin = 190;
  for (const std::string_view dims : {"[[1024,1024]]", "[[2048,1024]]", "[[512,1024]]"}) {
    c.m.operands(c.m.op("torch::autograd::AccumulateGrad", begin, 3, 1),
                 {dims, R"(["float"])", "", ""});
    begin += 5;
  }
  // The main thread goes on behind the backward pass.
  c.launch(220);
  return step_of(c.m);
}

struct ParallelBench {
  Configs configs = load_configs(source_path("configs"), "default");
  DataParallelReport report;
  Step parallel(const Step& step, int ranks) {
    const GpuArch& gpu = find_gpu(configs.gpus, "h200_sxm");
    report = {};
    return with_data_parallel(step,
                              {ranks, gpu, configs.collectives, configs.time, configs.libraries,
                               configs.host, configs.fusion.host},
                              report);
  }
};

double host_us(const Step& step) {
  double sum = 0;
  for (const HostItem& item : step.plan.items) sum += to_us(item.gap + item.call);
  return sum;
}

// From the last parameter: 8 MiB are more than the first bucket's one, 4 and 2 less than the 25 of
// the second. One cut forward and one backward, and the frame around the model, are entered.
TEST(CutGraphs, ComeWhereRanksTrainTheModel) {
  ParallelBench bench;
  const Step step = alone_compiled();
  const Step out = bench.parallel(step, 2);
  EXPECT_EQ(bench.report.buckets, 2);
  EXPECT_EQ(bench.report.graphs, 3);
  std::vector<std::int64_t> sums;
  std::vector<std::uint32_t> at;
  for (std::uint32_t w = 0; w < out.plan.works.size(); ++w) {
    const Collective* const c = collective_of(out.trace, out.plan.works[w].source);
    if (c == nullptr) continue;
    sums.push_back(c->in_bytes);
    at.push_back(w);
  }
  EXPECT_EQ(sums, (std::vector<std::int64_t>{8 << 20, 6 << 20}));
  // Works: one before, two forward, two of four backward, a copy, and the first sum; then the
  // other two, two copies, and the second.
  EXPECT_EQ(at, (std::vector<std::uint32_t>{6, 11}));
}

// What another thread does behind the backward pass comes behind all copies back.
TEST(CutGraphs, HoldTheThreadThatWaitsForTheBackwardPass) {
  ParallelBench bench;
  const Step out = bench.parallel(alone_compiled(), 2);
  const HostItem& last = out.plan.items[out.plan.works.back().item];
  ASSERT_NE(last.after, no_index);
  EXPECT_EQ(out.plan.items[last.after].first_work, out.plan.works.size() - 2);
}

TEST(CutGraphs, OfMoreRanksAreNoLessHostWork) {
  ParallelBench bench;
  const Step step = alone_compiled();
  double before = host_us(step);
  for (const int ranks : {2, 4, 8}) {
    const double now = host_us(bench.parallel(step, ranks));
    EXPECT_GE(now, before) << ranks;
    before = now;
  }
}

// A counter, and mean and variance of 64 channels, beside a bias of 64: three buffers.
TEST(CutGraphs, TellTheBuffersOfNorms) {
  ParallelBench bench;
  bench.parallel(alone_compiled(",[],[64],[64]", R"(,"long int","float","float")"), 2);
  EXPECT_EQ(bench.report.buffers, 3);
  // Without a counter they are not those of a norm.
  bench.parallel(alone_compiled(",[64],[64]", R"(,"float","float")"), 2);
  EXPECT_EQ(bench.report.buffers, 0);
}

}  // namespace
}  // namespace tandem
