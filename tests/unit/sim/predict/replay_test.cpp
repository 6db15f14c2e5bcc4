// The whole pipeline over a small trace held in memory. Times in microseconds.
#include <gtest/gtest.h>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// Two equal steps of a convolution of batch 8: host-bound, 100 each.
/// All kernels are grids of 64 blocks.
void add_grids(Trace& trace) {
  trace.geometries.push_back({{64, 1, 1}, {256, 1, 1}, 32, 0});
  for (GeometryId& id : trace.activities.geometry) id = GeometryId{trace.geometries.size() - 1};
}

TraceMaker two_steps() {
  TraceMaker m;
  for (int s = 0; s < 2; ++s) {
    const double begin = 100.0 * s;
    m.step(s, begin, 100);
    m.op("aten::conv2d", begin + 5, 40, 0, "[[8,3,32,32],[16,3,3,3]]");
    m.launch(begin + 10, 5, 10 + s);
    m.launch(begin + 30, 5, 20 + s);
    m.kernel(begin + 17, 10, 10 + s, 0, "first");
    m.kernel(begin + 37, 20, 20 + s, 0, "second");
  }
  add_grids(m.trace);
  return m;
}

ReplayOptions replay_options() {
  ReplayOptions o;
  o.configs = source_path("configs");
  return o;
}

std::string error_of(const TraceMaker& m, const ReplayOptions& o) {
  try {
    replay(m.trace, o);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// The same with gradients stored twice, a layer between: 16 items a step.
TEST(Replay, SamplesAreThoseOfAllPasses) {
  TraceMaker once = two_steps(), twice = two_steps();
  for (const double begin : {0.0, 100.0}) {
    twice.op("torch::autograd::AccumulateGrad", begin + 51, 2, 1, "[[16,3,3,3]]");
    twice.op("aten::conv2d", begin + 55, 5, 0, "[[8,3,32,32],[16,3,3,3]]");
    twice.op("torch::autograd::AccumulateGrad", begin + 65, 2, 1, "[[16,3,3,3]]");
  }
  ReplayOptions options = replay_options();
  options.job.samples = 1000;
  const Result one = replay(once.trace, options).prediction.result;
  const Result two = replay(twice.trace, options).prediction.result;
  EXPECT_EQ(one.scenario.items(), 8);
  EXPECT_EQ(two.trace.batch, 8);
  EXPECT_EQ(two.trace.passes, 2);
  EXPECT_EQ(two.scenario.items(), 16);
  EXPECT_DOUBLE_EQ(two.step.throughput_per_s, 16 / two.step.time_us * 1e6);
  EXPECT_NEAR(two.job->hours * 3600, 1000 / two.step.throughput_per_s, 1e-9);
}

// One step of 100, whose kernel was launched at 10 and ends at 90 behind 50 of what had been
// launched before the trace began; the host waits for it from 15 on. Without what came before, the
// device needs 30, from 60 to 90, and the host 50.
TEST(Replay, WhatWasLaunchedBeforeIsNoPartOfTheTracedStep) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("aten::conv2d", 5, 10, 0, "[[8,3,32,32],[16,3,3,3]]");
  m.launch(10, 5, 10);
  m.call("cudaDeviceSynchronize", 15, 75, 11);
  m.kernel(10, 50, 1, 0, "earlier");
  m.kernel(60, 30, 10, 0, "own");
  add_grids(m.trace);
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_DOUBLE_EQ(r.trace.traced_step_us, 50);
}

// Of training steps of 100 and evaluations of 20 the prediction follows the former, and so does the
// time that it is compared with: 100, not (2 * 100 + 20) / 3.
TEST(Replay, TheTracedStepIsTheMeanOfThoseThatAreFollowed) {
  TraceMaker m = two_steps();
  m.step(2, 200, 20);
  m.op("aten::conv2d", 202, 10, 0, "[[8,3,32,32],[16,3,3,3]]");
  m.launch(203, 5, 30);
  m.kernel(210, 3, 30, 0, "first");
  add_grids(m.trace);
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_DOUBLE_EQ(r.trace.traced_step_us, 100);
  EXPECT_EQ(r.trace.steps, 3);
  EXPECT_EQ(r.trace.steps_followed, 2);
  EXPECT_EQ(r.trace.followed_step, "ProfilerStep#1");
}

TEST(Replay, AClockOfTheDeviceThatIsBehindChangesNothing) {
  const TraceMaker m = two_steps();
  TraceMaker behind = two_steps();
  for (TimePoint& begin : behind.trace.activities.begin) begin -= microseconds(5000);
  const Result r = replay(m.trace, replay_options()).prediction.result;
  const Result moved = replay(behind.trace, replay_options()).prediction.result;
  EXPECT_NEAR(moved.step.time_us, r.step.time_us, 0.1);
  EXPECT_EQ(moved.losses.count("device_clock_behind"), 1);
}

TEST(Replay, ADeviceThatIsTakenForAnotherIsSaid) {
  TraceMaker m = two_steps();
  m.trace.devices = {{0, "NVIDIA A800-SXM4-80GB", 85'000'000'000, 8, 0, 108}};
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_EQ(r.scenario.gpu, "a100_sxm4_80gb");
  EXPECT_EQ(r.losses.count("device_by_properties"), 1);
}

TEST(Replay, SaysWhatGraphsCapture) {
  ReplayOptions o = replay_options();
  EXPECT_FALSE(replay(two_steps().trace, o).prediction.result.scenario.graph_scope);
  o.mode = {Mode::cuda_graph, GraphScope::forward_backward};
  const Result r = replay(two_steps().trace, o).prediction.result;
  EXPECT_EQ(r.scenario.graph_scope, GraphScope::forward_backward);
}

// Most work comes from a graph, of whose tensors nothing is known, unless the user says the peak.
TEST(Replay, NoPeakOfMemoryIsGuessedForGraphs) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("aten::conv2d", 5, 10, 0, "[[8,3,32,32],[16,3,3,3]]");
  m.launch(10, 5, 10);
  m.kernel(20, 5, 10, 0, "own");
  m.call("cudaGraphLaunch", 30, 5, 11);
  for (int i = 0; i < 3; ++i) m.kernel(40 + 10 * i, 5, 11, 0, "node");
  add_grids(m.trace);
  m.trace.stated_batch = 8;
  ReplayOptions o = replay_options();
  const Result r = replay(m.trace, o).prediction.result;
  EXPECT_FALSE(r.memory);
  EXPECT_EQ(r.losses.count("memory_in_graphs"), 1);
  o.peak_memory_bytes = 1e9;
  const Result said = replay(m.trace, o).prediction.result;
  ASSERT_TRUE(said.memory);
  EXPECT_NEAR(said.memory->peak_bytes, 1e9, 1);
  EXPECT_EQ(said.losses.count("memory_in_graphs"), 0);
}

TEST(Replay, SummarizesTheTrace) {
  const Result r = replay(two_steps().trace, replay_options()).prediction.result;
  EXPECT_EQ(r.trace.gpu, "NVIDIA H200");
  EXPECT_EQ(r.trace.batch, 8);
  EXPECT_EQ(r.trace.steps, 2);
  EXPECT_EQ(r.trace.kernels, 4);
  EXPECT_EQ(r.trace.launches, 4);
  EXPECT_EQ(r.trace.host_ops, 2);
  EXPECT_EQ(r.trace.streams, 1);
  EXPECT_EQ(r.scenario.gpu, "h200_sxm");
  EXPECT_EQ(r.scenario.mode_name(), "as-traced");
  EXPECT_EQ(r.scenario.profiler, Profiler::remove);
  EXPECT_EQ(r.scenario.host, "default");
}

TEST(Replay, ReproducesEveryTracedStep) {
  const Result r = replay(two_steps().trace, replay_options()).prediction.result;
  ASSERT_EQ(r.fidelity.size(), 2u);
  for (const StepFidelity& step : r.fidelity) {
    EXPECT_DOUBLE_EQ(step.traced_us, 100);
    EXPECT_NEAR(step.simulated_us, 100, 1e-6);
  }
}

TEST(Replay, KeepsTheProfilersStepWhenAskedTo) {
  ReplayOptions o = replay_options();
  o.profiler = Profiler::keep;
  const Result r = replay(two_steps().trace, o).prediction.result;
  EXPECT_NEAR(r.step.time_us, 100, 1e-6);
  EXPECT_NEAR(r.step.throughput_per_s, 8 / 100e-6, 1e-3);
  EXPECT_EQ(r.step.kernels, 2);
  EXPECT_DOUBLE_EQ(r.step.gpu_kernel_us, 30);
  EXPECT_NEAR(r.step.gpu_utilization, 0.3, 1e-9);
  EXPECT_EQ(r.limited_by, StepLimit::host);
}

TEST(Replay, RemovesTheProfilersCostByTheHostModel) {
  const HostModel host = load_host_model(replay_options().configs + "/hosts/default.json");
  const Result r = replay(two_steps().trace, replay_options()).prediction.result;
  // Gaps of 10, 15 and 65 in both steps, scaled; two launch calls.
  EXPECT_NEAR(r.step.time_us, 90 * host.gap_scale_aligned + 2 * host.launch_call_us, 1e-5);
}

TEST(Replay, WarnsOfAStatedBatchThatShapesContradict) {
  const auto contradicts = [](std::int64_t items) {
    ReplayOptions o;
    o.configs = source_path("configs");
    o.trace_path = source_path(
        "validation/captures/h200_2026-11-20_fit/traces/lenet5-infer-fp32-eager-b1024.json.zst");
    o.traced_batch = items;
    return replay(o).prediction.result.losses.count("traced_batch_contradicts");
  };
  EXPECT_EQ(contradicts(512), 1);
  EXPECT_EQ(contradicts(1024), 0);
  EXPECT_EQ(contradicts(0), 0);
}

TEST(Replay, CountsSamplesAsStepsWhereTheBatchIsUnknown) {
  TraceMaker m = two_steps();
  for (OperandsId& operands : m.trace.ops.operands) operands = {};
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_FALSE(r.trace.batch.has_value());
  EXPECT_NEAR(r.step.throughput_per_s, 1e6 / r.step.time_us, 1e-6);
}

TEST(Replay, ModesChangeTheStepNotTheFidelity) {
  ReplayOptions o = replay_options();
  const Result traced = replay(two_steps().trace, o).prediction.result;
  o.mode.mode = Mode::cuda_graph;
  const Result graph = replay(two_steps().trace, o).prediction.result;
  EXPECT_EQ(graph.fidelity[0].simulated_us, traced.fidelity[0].simulated_us);
  EXPECT_LT(graph.step.time_us, traced.step.time_us);
  EXPECT_DOUBLE_EQ(graph.graph_captured_us, 30);
  EXPECT_EQ(graph.step.launches, 1);
  EXPECT_EQ(graph.step.kernels, 2);
  o.mode.mode = Mode::eager_sync;
  EXPECT_GT(replay(two_steps().trace, o).prediction.result.step.time_us, traced.step.time_us);
}

TEST(Replay, AcceptsTheTracedGpuByName) {
  ReplayOptions o = replay_options();
  o.what_ifs.set("gpu", "h200_sxm");
  EXPECT_EQ(replay(two_steps().trace, o).prediction.result.scenario.gpu, "h200_sxm");
}

TEST(Replay, RejectsAnUnknownGpuAndNamesTheKnown) {
  ReplayOptions o = replay_options();
  o.what_ifs.set("gpu", "h201");
  const std::string text = error_of(two_steps(), o);
  EXPECT_NE(text.find("\"h201\""), std::string::npos) << text;
  EXPECT_NE(text.find("h200_sxm"), std::string::npos) << text;
}

TEST(Replay, RetimesKernelsForAnotherGpu) {
  ReplayOptions o = replay_options();
  const double traced = replay(two_steps().trace, o).prediction.result.step.gpu_kernel_us;
  o.what_ifs.set("gpu", "v100_sxm2_16gb");
  const Result r = replay(two_steps().trace, o).prediction.result;
  EXPECT_EQ(r.scenario.gpu, "v100_sxm2_16gb");
  EXPECT_GT(r.step.gpu_kernel_us, traced);
}

TEST(Replay, RejectsAnUnknownHost) {
  ReplayOptions o = replay_options();
  o.host = "no_such_host";
  EXPECT_NE(error_of(two_steps(), o).find("unknown host \"no_such_host\""), std::string::npos);
}

TEST(Replay, SeveralStreamsOfAGpuWithoutConfig) {
  TraceMaker m;
  m.step(0, 0, 100);
  for (int k = 0; k < 2; ++k) {
    const double begin = 10.0 + 20.0 * k;
    m.op("aten::op", begin, 20);
    m.launch(begin + 10, 5, 10 + k);
    m.kernel(begin + 17, 30, 10 + k, static_cast<std::size_t>(k));
  }
  add_grids(m.trace);
  m.trace.devices.clear();
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_EQ(r.losses.count("unknown_device"), 1);
  EXPECT_GT(r.step.time_us, 0);
}

TEST(Replay, WarnsOfAGpuWithoutConfig) {
  TraceMaker m = two_steps();
  m.trace.devices[0].name = "Imaginary 9000";
  EXPECT_EQ(replay(m.trace, replay_options()).prediction.result.losses.count("unknown_device"), 1);
  m.trace.devices.clear();
  EXPECT_EQ(replay(m.trace, replay_options()).prediction.result.losses.count("unknown_device"), 1);
}

TEST(Replay, TakesTheTracedGpuThatTheUserNames) {
  TraceMaker m = two_steps();
  m.trace.devices.clear();
  ReplayOptions o = replay_options();
  o.traced_gpu = "a100_sxm4_80gb";
  const Result r = replay(m.trace, o).prediction.result;
  EXPECT_EQ(r.losses.count("unknown_device"), 0);
  EXPECT_EQ(r.scenario.gpu, "a100_sxm4_80gb");
  o.what_ifs.set("gpu", "h200_sxm");  // the target is another matter
  EXPECT_EQ(replay(m.trace, o).prediction.result.scenario.gpu, "h200_sxm");
  EXPECT_NE(error_of(two_steps(), o).find("--traced-gpu"), std::string::npos);  // traced on an H200
}

TEST(Replay, ATargetDoesNotSayWhatWasTraced) {
  TraceMaker m = two_steps();
  m.trace.devices.clear();
  ReplayOptions o = replay_options();
  o.what_ifs.set("gpu", "h200_sxm");
  EXPECT_NE(error_of(m, o).find("--traced-gpu NAME"), std::string::npos);
}

TEST(Replay, KernelsWithoutGridsHaveNoLevelsAndNoEnergy) {
  TraceMaker m = two_steps();
  for (GeometryId& id : m.trace.activities.geometry) id = {};
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_EQ(r.losses.count("no_launch_geometry"), 1);
  EXPECT_FALSE(r.gpu_step.has_value());
  EXPECT_FALSE(r.energy.has_value());
  EXPECT_GT(r.step.time_us, 0);
}

TEST(Replay, TakesATraceWithoutStepsAsOne) {
  TraceMaker m = two_steps();
  m.trace.annotations = {};
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_EQ(r.losses.count("no_repetition"), 1);
  EXPECT_EQ(r.trace.steps_by, StepsBy::nothing);
  EXPECT_EQ(r.trace.steps, 1);
  EXPECT_EQ(r.step.kernels, 4);
}

TEST(Replay, ReportsTheLossesOfEveryStage) {
  TraceMaker m = two_steps();
  m.trace.losses.add("from_the_importer", Severity::info, "");
  m.launch(180, 5, 999);  // no kernel
  const Result r = replay(m.trace, replay_options()).prediction.result;
  EXPECT_EQ(r.losses.count("from_the_importer"), 1);
  EXPECT_EQ(r.losses.count("launch_without_kernel"), 1);
  EXPECT_EQ(r.losses.count("steps_not_aligned"), 1);
}

TEST(LinkTrace, CountsOverlapsOnAStream) {
  TraceMaker m;
  m.kernel(0, 100, -1);
  m.kernel(96, 100, -1);   // 4 early: programmatic launch
  m.kernel(190, 100, -1);  // 6 early
  m.kernel(190, 100, -1, 1);
  EXPECT_EQ(link_trace(m.trace).losses.count("overlapping_on_stream"), 1);
}

// 1 of 201 us was launched before the window opened; 100 of 300 us tell of broken correlations. A
// trace of the device alone has no launches.
TEST(LinkTrace, WarnsOfMoreWorkWithoutALaunchThanAWindowCutsOff) {
  const auto losses = [](double us, bool launched) {
    TraceMaker m;
    if (launched) m.launch(0, 5, 1);
    m.kernel(7, 200, launched ? 1 : -1);
    m.kernel(300, us, -1);
    return link_trace(m.trace).losses;
  };
  EXPECT_EQ(losses(1, true).count("activity_without_launch"), 1);
  EXPECT_FALSE(losses(1, true).any(Severity::warning));
  EXPECT_TRUE(losses(100, true).any(Severity::warning));
  EXPECT_FALSE(losses(100, false).any(Severity::warning));
}

TEST(LinkTrace, GivesSharedCorrelationsToTheLaterLaunchBeforeTheKernel) {
  TraceMaker m;
  m.launch(0, 5, 1);
  const auto second = m.launch(100, 5, 1);
  m.launch(200, 5, 1);
  m.kernel(107, 10, 1);
  const Links links = link_trace(m.trace);
  EXPECT_EQ(links.call_of_activity[0], second);
  EXPECT_EQ(links.losses.count("duplicate_correlation"), 2);
  EXPECT_EQ(links.losses.count("launch_without_kernel"), 2);
}

TEST(LinkTrace, SharedCorrelationsDoNotDependOnTheOrderOfRows) {
  TraceMaker m;
  m.launch(200, 5, 1);
  const auto second = m.launch(100, 5, 1);
  const auto first = m.launch(0, 5, 1);
  m.kernel(107, 10, 1);
  m.kernel(7, 10, 1);
  m.kernel(-50, 10, 1);  // before all of them
  m.kernel(300, 10, 2);  // of none
  const Links links = link_trace(m.trace);
  EXPECT_EQ(links.call_of_activity, (std::vector<std::uint32_t>{second, first, first, no_row}));
}

TEST(LinkTrace, ManyCallsOfOneCorrelationAreJoinedInTime) {
  TraceMaker m;
  constexpr int n = 200'000;  // squared, this would be hours
  for (int i = 0; i < n; ++i) m.launch(10.0 * i, 5, 1);
  for (int i = 0; i < n; ++i) m.kernel(10.0 * i + 7, 2, 1);
  const Links links = link_trace(m.trace);
  for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(links.call_of_activity[i], i);
}

TEST(LinkTrace, PrefersTheCallThatEnqueues) {
  TraceMaker m;
  m.call("cudaEventRecord", 50, 1, 1);
  const auto launch = m.launch(0, 5, 1);
  m.call("cudaFuncGetAttributes", 60, 1, 1);
  m.kernel(107, 10, 1);
  const Links links = link_trace(m.trace);
  EXPECT_EQ(links.call_of_activity[0], launch);
  EXPECT_EQ(links.losses.count("duplicate_correlation"), 0);
}

TEST(LinkTrace, OrdersStreamsByTimeNotByRow) {
  TraceMaker m;
  const auto last = m.kernel(50, 10, -1);
  const auto first = m.kernel(0, 10, -1);
  const auto middle = m.kernel(20, 10, -1);
  const Links links = link_trace(m.trace);
  EXPECT_EQ(links.stream_predecessor[last], middle);
  EXPECT_EQ(links.stream_predecessor[middle], first);
  EXPECT_EQ(links.stream_predecessor[first], no_row);
}

}  // namespace
}  // namespace tandem
