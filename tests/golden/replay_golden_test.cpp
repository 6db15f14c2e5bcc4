// The results of a small trace, byte for byte.
#include <gtest/gtest.h>

#include "sim/predict/predict.h"
#include "tests/golden/golden_result.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string folder = source_path("tests/golden/replay/");

std::string result_text(Mode mode) {
  ReplayOptions options;
  options.trace_path = folder + "tiny.json";
  options.configs = source_path("configs");
  options.mode.mode = mode;
  return test::golden_text(replay(options).prediction.result, "tiny.json");
}

class ReplayGolden : public testing::TestWithParam<Mode> {};

TEST_P(ReplayGolden, ResultIsTheCommittedOne) {
  const std::string path = folder + "tiny." + std::string(to_string(GetParam())) + ".result.json";
  test::expect_golden(result_text(GetParam()), path);
}

INSTANTIATE_TEST_SUITE_P(Modes, ReplayGolden,
                         testing::Values(Mode::as_traced, Mode::eager_async, Mode::eager_sync,
                                         Mode::cuda_graph),
                         [](const auto& mode) {
                           std::string name(to_string(mode.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tandem
