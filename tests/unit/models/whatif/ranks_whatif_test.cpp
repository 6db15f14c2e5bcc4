// Data parallelism around a step of three gradients of 4 MiB; other inputs. Times in microseconds.
#include <gtest/gtest.h>

#include <utility>

#include "models/whatif/ranks/alone.h"
#include "models/whatif/ranks/data_parallel.h"
#include "models/whatif/ranks/shared_host.h"
#include "sim/engine/engine.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::as_traced;
using test::TraceMaker;

TraceMaker backward() {
  TraceMaker m;
  m.step(0, 0, 200);
  for (int k = 0; k < 3; ++k) {
    const double begin = 10.0 + 40.0 * k;
    m.launch(begin, 5, 10 + k);
    m.kernel(begin + 10, 8, 10 + k, 0, "first");
    const auto op = m.op("torch::autograd::AccumulateGrad", begin + 10, 3);
    m.operands(op, {"[[1024,1024]]", R"(["float"])", "", ""});
  }
  return m;
}

struct RanksBench {
  Configs configs = load_configs(source_path("configs"), "default");
  const GpuArch& gpu() const { return find_gpu(configs.gpus, "h200_sxm"); }
  DataParallelReport report;
  Step parallel(const Step& step, int ranks) {
    return with_data_parallel(step,
                              {ranks, gpu(), configs.collectives, configs.time, configs.libraries,
                               configs.host, configs.fusion.host},
                              report);
  }
};

std::vector<std::uint32_t> collectives(const Plan& plan) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    if (plan.works[w].engine == DeviceEngine::collective) out.push_back(w);
  }
  return out;
}

// Four processes where one was: times of the host grow by 4 to the power 0.5, waits for input do
// not.
TEST(Ranks, ShareTheirHost) {
  Plan plan;
  plan.items.resize(2);
  plan.items[0].gap = from_us(10);
  plan.items[0].input = from_us(4);
  plan.items[0].call = from_us(3);
  plan.items[0].submit = from_us(2);
  plan.items[1].gap = from_us(10);
  plan.items[1].after = 0;  // another thread hands on: waking takes what it takes
  share_host(1, 4, 0.5, plan);
  EXPECT_EQ(plan.items[0].gap, from_us(4 + 2 * 6));
  EXPECT_EQ(plan.items[0].call, from_us(6));
  EXPECT_EQ(plan.items[0].submit, from_us(4));
  EXPECT_EQ(plan.items[1].gap, from_us(10));
  share_host(4, 1, 0.5, plan);
  EXPECT_EQ(plan.items[0].gap, from_us(10));
}

TEST(Ranks, GradientsGoInBuckets) {
  RanksBench bench;
  const Step step = bench.parallel(analyse(backward().trace, as_traced()).traced_step, 2);
  EXPECT_EQ(bench.report.parameters, 3);
  EXPECT_EQ(bench.report.gradient_bytes, 3.0 * 4 * 1024 * 1024);
  // The first is full with 1 MiB, the second would be with 25 MiB.
  EXPECT_EQ(bench.report.buckets, 2);
  EXPECT_EQ(bench.report.buffers, 0);
  EXPECT_EQ(step.plan.works.size(), 3U + 3 + 2 + 3);
  const auto sums = collectives(step.plan);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(collective_of(step.trace, step.plan.works[sums[0]].source)->in_bytes, 4 << 20);
  EXPECT_EQ(collective_of(step.trace, step.plan.works[sums[1]].source)->in_bytes, 8 << 20);
  const Timeline t = simulate(repeat(step.plan, 1, bench.configs.host));
  for (const std::uint32_t w : sums) {
    EXPECT_NE(step.plan.works[w].stream, step.plan.works[0].stream);
    EXPECT_GE(t.work_begin[w], t.work_end[w - 1]);  // of the copy into the bucket
  }
  // The first copy back of each bucket waits for its sum.
  const std::uint32_t back = sums[1] + 1;
  ASSERT_EQ(step.plan.works.size(), back + 3U);
  EXPECT_GE(t.work_begin[back], t.work_end[sums[0]]);
  EXPECT_GE(t.work_begin[back + 1], t.work_end[sums[1]]);
}

TEST(Ranks, ThereAndBackIsTheSameWork) {
  RanksBench bench;
  const Step traced = analyse(backward().trace, as_traced()).traced_step;
  AloneReport alone;
  const Step back = without_collectives(bench.parallel(traced, 2), 5, alone);
  EXPECT_EQ(alone.dropped, 3 + 2 + 3);
  EXPECT_EQ(alone.joined, 0);
  EXPECT_EQ(back.plan.works.size(), traced.plan.works.size());
  EXPECT_TRUE(collectives(back.plan).empty());
}

// The hook of a gradient runs behind its node, to the end of the engine's range of that: of the 20
// between the hook's launch and the next one 10 are the hook's.
TEST(Ranks, AloneAHookIsGoneToTheEndOfItsNode) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 10, 20);
  m.op("torch::autograd::AccumulateGrad", 11, 3);
  m.op("torch::distributed::reducer::mul_out", 15, 7);
  for (const auto& [begin, us] :
       {std::pair{4.0, 4.0}, std::pair{16.0, 4.0}, std::pair{40.0, 5.0}}) {
    const auto id = static_cast<std::int64_t>(begin);
    m.launch(begin, us, id);
    m.kernel(begin + 8, 2, id);
  }
  AloneReport alone;
  const Step step = without_collectives(analyse(m.trace, as_traced()).traced_step, 5, alone);
  EXPECT_EQ(alone.dropped, 1);
  ASSERT_EQ(step.plan.works.size(), 2U);
  EXPECT_EQ(step.plan.items[step.plan.works[1].item].gap, from_us(10));
}

// What is said of the collectives is said of the GPU that the step ends up on.
TEST(Ranks, TheReportIsOfTheOtherGpu) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 2);
  const auto reported = [&] {
    const Result r = replay(backward().trace, o).prediction.result;
    const double us = report_number(find_report(r.what_ifs, "ranks"), "collective_us", 0);
    EXPECT_NEAR(us, r.collectives->time_us, 1e-6);
    return us;
  };
  const double linked = reported();
  o.what_ifs.set("gpu", "l4");
  EXPECT_GT(reported(), 10 * linked);
}

TEST(Ranks, AStepWithoutGradientsCannotBeShared) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.launch(10, 5, 1);
  m.kernel(20, 8, 1);
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 2);
  try {
    replay(m.trace, o);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no gradient whose shape was recorded"),
              std::string::npos);
  }
  for (const std::int64_t ranks : {0, 9}) {
    o.what_ifs.set("ranks", ranks);
    EXPECT_THROW(replay(m.trace, o), InputError) << ranks;
  }
}

/// Two equal steps of 100 that wait 30 for their input.
TraceMaker reads_input() {
  TraceMaker m;
  for (int s = 0; s < 2; ++s) {
    const double begin = 100.0 * s;
    m.step(s, begin, 100);
    const auto note = m.step(-1, begin + 5, 30);
    m.trace.annotations.mark[note] = AnnotationMark::input;
    m.launch(begin + 40, 5, 10 + s);
    m.kernel(begin + 47, 8, 10 + s);
  }
  return m;
}

TEST(Input, WaitsAreNoCostOfTheProfiler) {
  ReplayOptions o = as_traced();
  o.profiler = Profiler::remove;
  EXPECT_NEAR(replay(reads_input().trace, o).prediction.result.input_wait_us, 30, 1e-6);
}

TEST(Input, MayWaitForNothingOrForASlowLoader) {
  ReplayOptions o = as_traced();
  const double traced = replay(reads_input().trace, o).prediction.result.step.time_us;
  o.what_ifs.set("input", "none");
  const Result none = replay(reads_input().trace, o).prediction.result;
  EXPECT_EQ(none.input_wait_us, 0);
  EXPECT_NEAR(none.step.time_us, traced - 30, 1);
  o.what_ifs.set("input", "0.5");  // milliseconds: the loader sets the pace
  const Result slow = replay(reads_input().trace, o).prediction.result;
  EXPECT_NEAR(slow.step.time_us, 500, 1);
  // Nothing else makes it longer, so the host waits for the rest of the 500 us, all of it critical.
  EXPECT_NEAR(slow.input_wait_us, 500 - none.step.time_us, 1);
  EXPECT_NEAR(slow.input_critical_us, slow.input_wait_us, 1);
  o.what_ifs.set("input", "0.001");  // it is always ahead
  const Result fast = replay(reads_input().trace, o).prediction.result;
  EXPECT_NEAR(fast.step.time_us, none.step.time_us, 1);
  EXPECT_EQ(fast.input_wait_us, 0);
  o.what_ifs.set("input", "soon");
  EXPECT_THROW(replay(reads_input().trace, o), InputError);
}

}  // namespace
}  // namespace tandem
