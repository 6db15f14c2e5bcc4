// Single operations of a network against numbers that somebody measured of each.
#include "validation/compare/operators.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "sim/predict/network_run.h"
#include "tests/expect_has.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"

namespace tandem {
namespace {

// Two products of 2 x 1024^3 and 2 x 2048^3 FLOP, and a view between them that launches nothing.
const char* const measured_products = R"({"schema": "tandem.network/1", "name": "two",
  "framework": "pytorch", "task": "infer", "source": "by hand", "recorded_with": "nothing",
  "optimizer": "", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [1, 2], "default": 1}], "modules": [""],
  "storages": ["input", "activation", "input", "activation"],
  "tensors": [["fp32", [1024, 1024], null, 0], ["fp32", [1024, 1024], null, 1],
              ["fp32", [2048, 2048], null, 2], ["fp32", [2048, 2048], null, 3]],
  "ops": [
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 0}, {"t": 0}], "out": [1]},
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 2}, {"t": 2}], "out": [3]}]})";

Replay products_on_a100() {
  const test::NetworkFile file(measured_products);
  NetworkRequest request;
  request.path = file.path();
  request.gpu = "a100_sxm4_80gb";
  ReplayOptions options;
  options.configs = source_path("configs");
  return run_network(request, options);
}

std::vector<OperatorNumbers> numbers(const std::string& csv, std::string_view quantity) {
  return operator_numbers(products_on_a100(), test::TempFile(csv, "two.csv").path(), quantity);
}

std::string operators_error(const std::string& csv, std::string_view quantity = "gpu_us") {
  try {
    numbers(csv, quantity);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Operators, EachIsHeldAgainstItsRow) {
  const auto rows = numbers("operator,gpu_us,dram_bytes\nsmall,150,1\nlarge,1000,2\n", "gpu_us");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "small");
  EXPECT_DOUBLE_EQ(rows[0].measured, 150);
  EXPECT_EQ(rows[1].name, "large");
  EXPECT_DOUBLE_EQ(rows[1].measured, 1000);
  // 2.15 and 17.2 GFLOP at no more than 19.5 TFLOP/s.
  EXPECT_GT(rows[0].predicted, 110);
  EXPECT_GT(rows[1].predicted, 880);
  EXPECT_LT(rows[1].predicted, 2 * 880);
}

TEST(Operators, BytesAreThoseOfTheKernelModel) {
  const auto rows = numbers("operator,dram_bytes\nsmall,1\nlarge,1\n", "dram_bytes");
  ASSERT_EQ(rows.size(), 2u);
  // At most both operands and the result, 3 x 16 MB.
  EXPECT_LE(rows[1].predicted, 3.1 * 2048 * 2048 * 4);
  EXPECT_GT(rows[1].predicted, 0);
}

TEST(Operators, WhatDoesNotFitIsNamed) {
  EXPECT_HAS(operators_error("operator,gpu_us\nsmall,150\n"),
             "two.csv: found 1 rows, expected a row for each of the 2 operations");
  EXPECT_HAS(operators_error("operator,us\na,1\nb,2\n"), "gpu_us");
  EXPECT_HAS(operators_error("operator,gpu_us\na,1\nb,fast\n"), "line 3");
  EXPECT_HAS(operators_error("operator,hops\na,1\nb,2\n", "hops"),
             "two.csv: found no number of kernels called \"hops\", expected gpu_us");
}

}  // namespace
}  // namespace tandem
