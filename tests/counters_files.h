// Nsight Compute reports for the tests, written and read back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/counters/counter_report.h"
#include "tests/import_files.h"

namespace tandem::test {

inline CounterReport read_report(std::string_view content) {
  const TempFile file(content, "report.csv");
  return read_counter_report(file.path());
}

/// The text of the InputError that reading `content` throws, without the path in front; empty if it
/// throws none.
inline std::string report_error(std::string_view content) {
  const TempFile file(content, "report.csv");
  try {
    read_counter_report(file.path());
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.starts_with(file.path()) ? text.substr(file.path().size() + 1) : "NO PATH: " + text;
  }
  return {};
}

inline std::string csv_row(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "\"" : ",\"") + field + "\"";
  return line + "\n";
}

/// Raw page: the columns in front of the metrics.
inline std::vector<std::string> raw_columns(const std::vector<std::string>& metrics) {
  std::vector<std::string> all{"ID",      "Process ID", "Process Name", "Host Name", "Kernel Name",
                               "Context", "Stream",     "Block Size",   "Grid Size", "Device",
                               "CC"};
  all.insert(all.end(), metrics.begin(), metrics.end());
  return all;
}
inline std::vector<std::string> raw_units(const std::vector<std::string>& units) {
  std::vector<std::string> all(11);
  all.insert(all.end(), units.begin(), units.end());
  return all;
}
inline std::vector<std::string> raw_kernel(const std::string& id, const std::string& name,
                                           const std::vector<std::string>& values) {
  std::vector<std::string> all{id,  "42",          "python",     "host", name, "1",
                               "7", "(256, 1, 1)", "(5, 20, 1)", "0",    "9.0"};
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// A raw page of one metric with one kernel a value.
inline std::string raw_page(const std::string& metric, const std::string& unit,
                            const std::vector<std::string>& values) {
  std::string text = "==PROF== Connected to process 42\n";
  text += csv_row(raw_columns({metric})) + csv_row(raw_units({unit}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += csv_row(raw_kernel(std::to_string(i), "gemm", {values[i]}));
  }
  return text + "==PROF== Disconnected from process 42\n";
}

}  // namespace tandem::test
