// The result of a generated step, byte for byte.
#include <gtest/gtest.h>

#include "sim/predict/network_run.h"
#include "tests/golden/golden_result.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

void expect_golden_run(const std::string& name, const std::string& gpu) {
  ReplayOptions options;
  options.configs = source_path("configs");
  const NetworkRequest request{source_path("workloads/nets/" + name + ".json"), gpu, 256, {}};
  const Result result = run_network(request, options).prediction.result;
  test::expect_golden(test::golden_text(result, name + ".json"),
                      source_path("tests/golden/run/" + name + ".result.json"));
}

TEST(NetworkGolden, ResultIsTheCommittedOne) {
  expect_golden_run("lenet5-train", "a100_sxm4_80gb");
}

// Its executor, queue and value waits are in the result.
TEST(NetworkGolden, ResultOnAnExecutorIsTheCommittedOne) {
  expect_golden_run("tf_lenet5-infer", "v100_sxm2_32gb");
}

}  // namespace
}  // namespace tandem
