// Compiling is a what-if that any mode can follow: compiled and captured in a CUDA graph
// (torch.compile's mode reduce-overhead), compiled and blocking.
#include <gtest/gtest.h>

#include "sim/core/fields/field.h"
#include "sim/predict/predict.h"
#include "sim/report/report.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// Small batches: the host limits the eager step.
const TracedRun& host_bound() {
  static const TracedRun run = [] {
    ReplayOptions o;
    o.configs = source_path("configs");
    return analyse(import_trace(source_path("validation/captures/h200_2026-11-21_networks_holdout/"
                                            "traces/resnet50-infer-fp32-eager-b8.json.zst")),
                   o);
  }();
  return run;
}

Prediction run(Mode mode, bool compiled) {
  ReplayOptions o;
  o.mode.mode = mode;
  if (compiled) o.what_ifs.set("compile", "inductor");
  return predict(host_bound(), o);
}

std::int64_t generated(const Prediction& p) {
  std::int64_t count = 0;
  for (const DeviceWork& work : p.step.plan.works) {
    count +=
        p.step.trace.strings.get(p.step.trace.activities.name[work.source]).starts_with("triton_");
  }
  return count;
}

TEST(CompileMode, AGraphAfterCompilingHoldsTheGeneratedKernels) {
  const Prediction both = run(Mode::cuda_graph, true);
  const Prediction compiled = run(Mode::as_traced, true);
  EXPECT_GT(generated(compiled), 10);
  EXPECT_EQ(generated(both), generated(compiled));
  EXPECT_EQ(both.result.step.kernels, compiled.result.step.kernels);
  EXPECT_LT(both.result.step.launches, compiled.result.step.launches);
  EXPECT_GT(both.result.graph_captured_us, 0);
  EXPECT_EQ(both.result.scenario.mode_name(), "cuda-graph");
  EXPECT_EQ(compiled.result.scenario.mode_name(), "jit");
  EXPECT_TRUE(result_json(both.result).contains("fusion"));
}

TEST(CompileMode, AGraphAfterCompilingIsNoSlowerThanEachAlone) {
  const double both_us = run(Mode::cuda_graph, true).result.step.time_us;
  EXPECT_LE(both_us, run(Mode::cuda_graph, false).result.step.time_us);
  EXPECT_LE(both_us, run(Mode::as_traced, true).result.step.time_us);
  EXPECT_LT(run(Mode::as_traced, true).result.step.time_us,
            run(Mode::as_traced, false).result.step.time_us);
}

TEST(CompileMode, BlockingCompiledCodeWaitsForEveryKernel) {
  const Prediction blocking = run(Mode::eager_sync, true);
  EXPECT_GT(generated(blocking), 10);
  EXPECT_GT(blocking.result.step.time_us, run(Mode::as_traced, true).result.step.time_us);
  // Every launch returns after its kernel: no queue.
  EXPECT_LE(blocking.result.step.queue_max_depth, 1.0);
}

}  // namespace
}  // namespace tandem
