// The results of a small trace, byte for byte. TANDEM_UPDATE_GOLDEN=1 writes them anew: look at the
// difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/predict/predict.h"
#include "sim/report/report.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string folder = source_path("tests/golden/replay/");

/// Ten digits: the last bits of a logarithm or power are the machine's.
void round_numbers(nlohmann::ordered_json& json) {
  for (auto& value : json) {
    if (value.is_structured()) round_numbers(value);
    if (!value.is_number_float()) continue;
    std::ostringstream text;
    text << std::setprecision(10) << value.get<double>();
    value = std::stod(text.str());
  }
}

std::string result_text(Mode mode) {
  ReplayOptions options;
  options.trace_path = folder + "tiny.json";
  options.configs = source_path("configs");
  options.mode.mode = mode;
  Result result = replay(options).prediction.result;
  result.trace.path = "tiny.json";  // the same on every machine
  nlohmann::ordered_json json = result_json(result);
  json["tandem_version"] = "";
  round_numbers(json);
  return json.dump(1) + '\n';
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ReplayGolden : public testing::TestWithParam<Mode> {};

TEST_P(ReplayGolden, ResultIsTheCommittedOne) {
  const std::string path = folder + "tiny." + std::string(to_string(GetParam())) + ".result.json";
  const std::string text = result_text(GetParam());
  if (std::getenv("TANDEM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    GTEST_SKIP() << "wrote " << path;
  }
  EXPECT_EQ(text, read(path));
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
