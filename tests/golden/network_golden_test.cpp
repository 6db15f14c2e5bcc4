// The result of a generated step, byte for byte.
#include <gtest/gtest.h>

#include "sim/predict/network_run.h"
#include "tests/golden/golden_result.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

TEST(NetworkGolden, ResultIsTheCommittedOne) {
  ReplayOptions options;
  options.configs = source_path("configs");
  const NetworkRequest request{
      source_path("workloads/nets/lenet5-train.json"), "a100_sxm4_80gb", 256, {}};
  const Result result = run_network(request, options).prediction.result;
  test::expect_golden(test::golden_text(result, "lenet5-train.json"),
                      source_path("tests/golden/run/lenet5-train.result.json"));
}

}  // namespace
}  // namespace tandem
