// A result as text that is the same on every machine, and its comparison with a committed one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/report/report.h"

namespace tandem::test {

/// Ten digits: the last bits of a logarithm or power are the machine's.
inline void round_numbers(nlohmann::ordered_json& json) {
  for (auto& value : json) {
    if (value.is_structured()) round_numbers(value);
    if (!value.is_number_float()) continue;
    std::ostringstream text;
    text << std::setprecision(10) << value.get<double>();
    value = std::stod(text.str());
  }
}

/// `path`: what stands for that of the trace.
inline std::string golden_text(Result result, const std::string& path) {
  result.trace.path = path;
  nlohmann::ordered_json json = result_json(result);
  json["tandem_version"] = "";
  round_numbers(json);
  return json.dump(1) + '\n';
}

/// TANDEM_UPDATE_GOLDEN=1 writes the file anew: look at the difference before you commit it.
inline void expect_golden(const std::string& text, const std::string& path) {
  if (std::getenv("TANDEM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(text, committed.str());
}

}  // namespace tandem::test
