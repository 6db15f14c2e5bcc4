// What runs once more in the backward pass (activation checkpointing) has the types of the forward
// pass: a trace of checkpoints in another precision is the step in that precision with checkpoints.
#include <gtest/gtest.h>

#include <string>

#include "sim/predict/network_run.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

struct StepFigures {
  double gpu_us = 0, peak_bytes = 0;
};

StepFigures checkpointed(const std::string& name, const std::string& precision, bool by_what_if) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path =
      source_path("validation/captures/") + name + (by_what_if ? "" : "-checkpoint") + ".json.zst";
  o.what_ifs.set("precision", precision);
  if (by_what_if) o.what_ifs.set("checkpoint", asks_for_flag);
  const Result result = replay(o).prediction.result;
  return {result.step.gpu_kernel_us, result.memory->peak_bytes};
}

void expect_equal_ways(const std::string& name, const std::string& precision) {
  const StepFigures traced = checkpointed(name, precision, false);
  const StepFigures predicted = checkpointed(name, precision, true);
  EXPECT_NEAR(traced.gpu_us / predicted.gpu_us, 1, 0.02) << name << " to " << precision;
  EXPECT_NEAR(traced.peak_bytes / predicted.peak_bytes, 1, 0.03) << name << " to " << precision;
}

// T5's products in FP32 last twice as long where those that run again keep their type.
TEST(PrecisionCheckpoint, WhatRunsAgainIsUnderAutocastToo) {
  expect_equal_ways("h200_2026-11-28_loops_fit/traces/t5-train-fp32-eager-b8", "amp");
  expect_equal_ways("h200_2026-11-28_loops_holdout/traces/llama_4l-train-fp32-eager-b4", "bf16");
}

TEST(PrecisionCheckpoint, AndOutOfIt) {
  expect_equal_ways("h200_2026-11-28_loops_fit/traces/bert_base-train-amp-eager-b16", "fp32");
  expect_equal_ways("h200_2026-11-28_loops_fit/traces/gpt2-train-bf16-eager-b8", "bf16w");
}

// The same of a network: its operations whose gradients compute nothing (GPT-2's activation adds
// one) run again, too. Measured are 4.286 GB (h200_2026-11-28_loops_fit); without these it
// was 5.81.
TEST(PrecisionCheckpoint, NetworksKeepNothingOfTheFirstRun) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.what_ifs.set("precision", "bf16");
  o.what_ifs.set("checkpoint", asks_for_flag);
  const NetworkRequest request{source_path("workloads/nets/gpt2-train.json"), "h200_sxm", 8, {}};
  EXPECT_NEAR(run_network(request, o).prediction.result.memory->peak_bytes / 4.286e9, 1, 0.05);
}

}  // namespace
}  // namespace tandem
