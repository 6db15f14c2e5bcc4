// Experiment files that cannot be used.
#include <gtest/gtest.h>

#include "tests/unit/sim/sweep/sweep_for_tests.h"

namespace tandem {
namespace {

std::string experiment_error(const std::string& text) {
  try {
    test::experiment_of(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// A whole experiment with these axes and further keys.
std::string with(const std::string& axes, const std::string& more = "") {
  return R"({"schema": "tandem.experiment/1", "trace": "t", "axes": )" + axes + more + "}";
}

void expect_experiment_error(const std::string& text, const std::string& part) {
  const std::string error = experiment_error(text);
  EXPECT_NE(error.find(part), std::string::npos) << text << "\n-> " << error;
  EXPECT_TRUE(error.starts_with("dir/e.json")) << error;
  EXPECT_NE(error.find("expected"), std::string::npos) << error;
}

TEST(ExperimentBadInput, TheGoodOneIsGood) {
  EXPECT_EQ(experiment_error(with(R"({"batch": [8]})")), "");
}

TEST(ExperimentBadInput, FileAsAWhole) {
  expect_experiment_error("[]", "expected an object");
  expect_experiment_error("{", "");
  expect_experiment_error(R"({"schema": "tandem.experiment/1", "axes": {"batch": [8]}})",
                          "no key \"trace\"");
  expect_experiment_error(
      R"({"schema": "tandem.experiment/2", "trace": "t", "axes": {"batch": [8]}})",
      "tandem.experiment/1");
  expect_experiment_error(
      with(R"({"batch": [8]})", R"(, "axis": {})"),
      "unknown key \"axis\", expected one of: schema, trace, base, measured_step_s, axes");
  expect_experiment_error(with(R"({"batch": [8]})", R"(, "trace": "u")"), "");  // a key twice
}

TEST(ExperimentBadInput, Axes) {
  expect_experiment_error(with("{}"), "no axis");
  expect_experiment_error(with("[]"), "axes");
  expect_experiment_error(
      with(R"({"batches": [8]})"),
      "one of: mode, host, layout, precision, update, checkpoint, passes, batch, compile");
  expect_experiment_error(with(R"({"gpu.": [8]})"), "unknown axis");
  expect_experiment_error(with(R"({"batch": []})"), "an empty list");
  expect_experiment_error(with(R"({"batch": 8})"), "a list of values");
  expect_experiment_error(with(R"({"batch": [8, 8]})"), "8 twice");
  // Too many are counted, not compared with each other: a million took minutes.
  std::string many = "1";
  for (int i = 2; i <= 1'000'001; ++i) many += "," + std::to_string(i);
  expect_experiment_error(with(R"({"batch": [)" + many + "]}"), "a grid of 1e+06 points");
  expect_experiment_error(with(R"({"batch": [8, 0]})"), "axes.batch.1");
  expect_experiment_error(with(R"({"batch": [-1]})"), "> 0");
  expect_experiment_error(with(R"({"batch": [1.5]})"), "whole number");
  expect_experiment_error(with(R"({"batch": ["8"]})"), "whole number");
  expect_experiment_error(with(R"({"batch": [1e300]})"), "whole number");
  expect_experiment_error(with(R"({"batch": {"scale": [2]}})"), "a list of values");
  expect_experiment_error(with(R"({"mode": [1]})"), "a text");
  expect_experiment_error(with(R"({"gpu.sm_count": {"scales": [2]}})"), "{\"scale\": [factors]}");
  expect_experiment_error(with(R"({"gpu.sm_count": {"scale": []}})"), "an empty list");
  expect_experiment_error(with(R"({"gpu.sm_count": {"scale": [0]}})"), "> 0");
  expect_experiment_error(with(R"({"gpu.sm_count": [null]})"), "a text");
}

TEST(ExperimentBadInput, WhatNoTracedRunCanHave) {
  const std::string axes = R"({"batch": [8]})";
  EXPECT_EQ(experiment_error(with(axes, R"(, "steps": 2, "peak_memory_gb": 80)")), "");
  expect_experiment_error(with(axes, R"(, "steps": 2, "step": "train")"),
                          "steps: found step beside it, expected one of the two");
  expect_experiment_error(with(axes, R"(, "steps": 1000000001)"),
                          "steps: found 1000000001, expected 1 to 1000000000");
  expect_experiment_error(with(axes, R"(, "traced_batch": 1000000001)"), "traced_batch: found");
  expect_experiment_error(with(axes, R"(, "peak_memory_gb": 1e7)"), "gigabytes, 1e-06 to 1000000");
  expect_experiment_error(with(axes, R"(, "measured_step_s": 1e5)"), "seconds, 1e-06 to 10000");
}

TEST(ExperimentBadInput, AGridThatCannotBeEnumerated) {
  std::string values = "[1";
  for (int i = 2; i <= 101; ++i) values.append(", ").append(std::to_string(i));
  values.append("]");
  // 101^3 = 1,030,301 points
  std::string axes = "{\"batch\": ";
  axes.append(values).append(", \"gpu.sm_count\": ").append(values);
  axes.append(", \"gpu.l2_bytes\": ").append(values).append("}");
  expect_experiment_error(with(axes), "at most 1000000 points");
}

TEST(ExperimentBadInput, Questions) {
  const std::string axes = R"({"batch": [8]})";
  expect_experiment_error(with(axes, R"(, "metrics": ["speed"])"),
                          "\"speed\", expected one of: time_us");
  expect_experiment_error(with(axes, R"(, "metrics": ["time_us", "smocc", "time_us"])"),
                          "time_us twice");
  expect_experiment_error(with(axes, R"(, "pareto": {"x": "time_us"})"), "no key \"y\"");
  expect_experiment_error(with(axes, R"(, "pareto": {"x": "time_us", "y": "speed"})"), "pareto.y");
  expect_experiment_error(
      with(axes, R"(, "pareto": {"x": "time_us", "y": "smocc", "x_goal": "low"})"), "min");
  expect_experiment_error(with(axes, R"(, "elasticity": {})"), "no key \"parameters\"");
  expect_experiment_error(with(axes, R"(, "elasticity": {"parameters": []})"), "parameters");
  expect_experiment_error(with(axes, R"(, "elasticity": {"parameters": ["batch"]})"), "gpu.KEY");
  expect_experiment_error(with(axes, R"(, "elasticity": {"parameters": ["gpu.a", "gpu.a"]})"),
                          "twice");
  expect_experiment_error(with(axes, R"(, "elasticity": {"parameters": ["gpu.a"], "step": 1})"),
                          "below 1");
  expect_experiment_error(
      with(axes, R"(, "elasticity": {"parameters": ["gpu.a"], "at": {"gpu.a": 3}})"), "gpu.a");
}

}  // namespace
}  // namespace tandem
