// Metrics of hand-made timelines. Sums in microseconds.
#include "sim/metrics/step_metrics.h"

#include <gtest/gtest.h>

#include "models/runtime/step_plan.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;
using test::round_host;
using test::TraceMaker;

/// Activity 0 is a kernel, 1 a copy.
Trace kernel_and_copy() {
  TraceMaker m;
  m.kernel(0, 1, -1);
  m.activity(ActivityKind::memcpy, "Memcpy DtoH", 2, 1, -1);
  return m.trace;
}

StepMetrics metrics_of(const Plan& step, std::size_t count = 4) {
  const Plan repeated = repeat(step, count, round_host());
  const Timeline steady = simulate(repeated);
  const Plan isolated = repeat(step, 1, round_host());
  return step_metrics(kernel_and_copy(), step, steady, count, steady_period(step, steady, count),
                      isolated, simulate(isolated));
}

TEST(StepMetrics, HostBoundStep) {
  PlanBuilder b;
  b.launch(20, 5, {.us = 10});
  b.launch(20, 5, {.us = 10});
  const StepMetrics m = metrics_of(b.plan);
  EXPECT_DOUBLE_EQ(m.time_us, 50);  // 2 * (20 + 5)
  EXPECT_DOUBLE_EQ(m.gpu_kernel_us, 20);
  EXPECT_DOUBLE_EQ(m.gpu_busy_us, 20);
  EXPECT_DOUBLE_EQ(m.gpu_utilization, 0.4);
  EXPECT_DOUBLE_EQ(m.gract, 0.4);
  EXPECT_EQ(m.launches, 2);
  EXPECT_EQ(m.kernels, 2);
  // Isolated: calls [20, 25] and [45, 50], kernels [27, 37] and [52, 62]; the synchronisation
  // begins at 50 and returns at 62 + 5.
  EXPECT_DOUBLE_EQ(m.isolated_time_us, 67);
  EXPECT_DOUBLE_EQ(m.enqueue_us, 40);
  EXPECT_DOUBLE_EQ(m.dequeue_us, 10);
  EXPECT_DOUBLE_EQ(m.host_wait_us, 15);  // 67 - 50 - 2 of the call
  EXPECT_DOUBLE_EQ(m.phase_gpu_kernel_us, 20);
  EXPECT_DOUBLE_EQ(m.phase_dequeue_us, 10);
  EXPECT_DOUBLE_EQ(m.phase_copy_us, 0);
  EXPECT_DOUBLE_EQ(m.wait_us, 37);
  EXPECT_DOUBLE_EQ(m.queue_mean_depth, 0);
  EXPECT_DOUBLE_EQ(m.queue_max_depth, 0);
  EXPECT_DOUBLE_EQ(m.queue_empty_share, 1);
}

TEST(StepMetrics, GpuBoundStep) {
  PlanBuilder b;
  for (int i = 0; i < 3; ++i) b.launch(0, 1, {.us = 100});
  const StepMetrics m = metrics_of(b.plan);
  EXPECT_DOUBLE_EQ(m.time_us, 303);  // 3 * (100 + 1)
  EXPECT_DOUBLE_EQ(m.gpu_kernel_us, 300);
  EXPECT_NEAR(m.gpu_utilization, 300.0 / 303, 1e-12);
  // Isolated: kernels [3, 103], [104, 204], [205, 305]; ready at 3, 4 and 5; returns at 310.
  EXPECT_DOUBLE_EQ(m.isolated_time_us, 310);
  EXPECT_DOUBLE_EQ(m.phase_dequeue_us, 3);  // calls [0, 3]
  EXPECT_DOUBLE_EQ(m.wait_us, 7);           // gaps 1 + 1, return 5
  EXPECT_DOUBLE_EQ(m.queue_max_depth, 2);
  EXPECT_NEAR(m.queue_mean_depth, (100.0 + 200.0) / 310, 1e-12);  // waits 4-104 and 5-205
  EXPECT_NEAR(m.queue_empty_share, 1 - 201.0 / 310, 1e-12);       // 4 to 205
}

TEST(StepMetrics, PhasesByPriority) {
  PlanBuilder b(1, 2);
  b.launch(0, 4, {.us = 10, .stream = 0});  // call [0, 4], kernel [6, 16]
  b.launch(0, 4, {.us = 20, .stream = 1});  // call [4, 8], copy [10, 30]
  b.plan.works[1].source = 1;
  b.call(92, 1);  // to 101; the synchronisation ends at 103
  const StepMetrics m = metrics_of(b.plan);
  EXPECT_DOUBLE_EQ(m.isolated_time_us, 103);
  EXPECT_DOUBLE_EQ(m.phase_gpu_kernel_us, 10);
  EXPECT_DOUBLE_EQ(m.phase_dequeue_us, 6);  // [0, 6) less the latency: [0, 4] and [4, 6]
  EXPECT_DOUBLE_EQ(m.phase_copy_us, 14);    // [16, 30]
  EXPECT_DOUBLE_EQ(m.wait_us, 73);          // 103 - 10 - 6 - 14
  EXPECT_DOUBLE_EQ(m.phase_gpu_kernel_us + m.phase_dequeue_us + m.phase_copy_us + m.wait_us,
                   m.isolated_time_us);
}

TEST(StepMetrics, BusyIsTheUnionOverStreams) {
  PlanBuilder b(1, 2);
  b.launch(50, 5, {.us = 30, .stream = 0});
  b.launch(50, 5, {.us = 80, .stream = 1});
  // Steady: kernels [57, 87] and [112, 192] of a step of 110: the second overlaps the next step's
  // first, [167, 197], by 25.
  const StepMetrics m = metrics_of(b.plan);
  EXPECT_DOUBLE_EQ(m.gpu_kernel_us, 110);
  EXPECT_DOUBLE_EQ(m.time_us, 110);
  EXPECT_DOUBLE_EQ(m.gpu_busy_us, 85);  // 110 - 25
}

TEST(StepMetrics, BusyIsAtMostTheStepWhereStepsOverlap) {
  // Stream 1 of a step runs beside stream 0 of the next: both are busy all the time.
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 100, .gap_us = 0, .stream = 0});
  b.launch(0, 1, {.us = 100, .gap_us = 0, .stream = 1, .edges = {{0, Duration{}}}});
  const StepMetrics m = metrics_of(b.plan, 6);
  EXPECT_DOUBLE_EQ(m.time_us, 100);
  EXPECT_DOUBLE_EQ(m.gpu_kernel_us, 200);
  EXPECT_DOUBLE_EQ(m.gpu_busy_us, 100);
  EXPECT_DOUBLE_EQ(m.gpu_utilization, 1);
}

TEST(QueueDepth, CountsWhatCouldRunButHasNotBegun) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});   // ready and begun at 3
  b.launch(0, 1, {.us = 10});   // ready 4, begins 14
  b.launch(0, 1, {.us = 10});   // ready 5, begins 25
  b.launch(97, 1, {.us = 10});  // idle: ready and begun at 103
  const auto depth = queue_depth(b.plan, simulate(b.plan));
  ASSERT_EQ(depth.size(), 4u);
  EXPECT_EQ(depth[0].time, at_us(4));
  EXPECT_EQ(depth[0].depth, 1);
  EXPECT_EQ(depth[1].time, at_us(5));
  EXPECT_EQ(depth[1].depth, 2);
  EXPECT_EQ(depth[2].time, at_us(14));
  EXPECT_EQ(depth[2].depth, 1);
  EXPECT_EQ(depth[3].time, at_us(25));
  EXPECT_EQ(depth[3].depth, 0);
}

TEST(QueueDepth, GraphNodesAndPreloadedWorkDoNotQueue) {
  PlanBuilder b;
  b.preloaded(0, {.us = 50});
  b.graph(0, 1, {{.us = 10}, {.us = 10}});
  EXPECT_TRUE(queue_depth(b.plan, simulate(b.plan)).empty());
}

TEST(TimeShares, SumByNameLongestFirst) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.launch(0, 1, {.us = 5});
  b.launch(0, 1, {.us = 30});
  for (std::uint32_t w = 0; w < 3; ++w) b.plan.works[w].source = w;
  const std::vector<std::string_view> names{"conv", "helper", "helper"};
  const auto kernels = time_shares(b.plan, names);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "helper");
  EXPECT_EQ(kernels[0].count, 2);
  EXPECT_DOUBLE_EQ(kernels[0].time_us, 35);  // 5 + 30
  EXPECT_DOUBLE_EQ(kernels[0].share, 35.0 / 45);
  EXPECT_DOUBLE_EQ(kernels[1].time_us, 10);
}

TEST(TimeShares, OfVeryManyNamesTheLeastAreOneRow) {
  PlanBuilder b;
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < 10'003; ++i) {
    b.launch(1, 1, {.us = i < 2 ? 5.0 : 1.0});
    b.plan.works.back().source = i;
    texts.push_back("kernel" + std::to_string(i));
  }
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  const auto shares = time_shares(b.plan, names);
  ASSERT_EQ(shares.size(), 10'000u);
  EXPECT_EQ(shares[0].name, "kernel0");
  EXPECT_EQ(shares.back().name, "(4 others)");
  EXPECT_EQ(shares.back().count, 4);
  EXPECT_DOUBLE_EQ(shares.back().time_us, 4);
  double sum = 0;
  for (const TimeShare& share : shares) sum += share.share;
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(TimeShares, OfEqualTimesTheNameDecides) {
  PlanBuilder b;
  for (std::uint32_t w = 0; w < 2; ++w) b.plan.works[b.add_work({.us = 5}, no_index)].source = w;
  const std::vector<std::string_view> names{"b", "a"};
  EXPECT_EQ(time_shares(b.plan, names)[0].name, "a");
}

TEST(Fidelity, SpansEndWithTheLastWorkOfTheStep) {
  TraceMaker m;
  m.step(1, 0, 50);
  m.launch(10, 5, 1);
  m.kernel(17, 100, 1);  // [17, 117], past the annotation's end
  const Links links = link_trace(m.trace);
  PlanBuilder b;
  b.marker(ItemKind::step_begin);
  b.launch(10, 5, {.us = 101});  // simulated: [17, 118]
  b.marker(ItemKind::step_end);
  const auto steps = fidelity(m.trace, links, b.plan,
                              {{"ProfilerStep#1", 0, 3}, {"open", 0, no_index}}, simulate(b.plan));
  ASSERT_EQ(steps.size(), 1u);  // a step without end is left out
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_DOUBLE_EQ(steps[0].traced_us, 117);
  EXPECT_DOUBLE_EQ(steps[0].simulated_us, 118);
}

TEST(MetricInfos, NameEveryMetricOnceWithUnitAndMeaning) {
  std::vector<std::string_view> names;
  for (const MetricInfo& info : step_metric_infos()) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.unit.empty()) << info.name;
    EXPECT_FALSE(info.description.empty()) << info.name;
    EXPECT_NE(info.value, nullptr) << info.name;
    names.push_back(info.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(names.size(), sizeof(StepMetrics) / sizeof(double));  // no member was forgotten
}

}  // namespace
}  // namespace tandem
