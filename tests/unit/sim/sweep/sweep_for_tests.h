// Sweeps of made-up numbers.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/fields/field.h"
#include "sim/sweep/metrics.h"
#include "sim/sweep/tables.h"

namespace tandem::test {

inline const std::vector<Axis> two_axes{{"batch", {"1", "2", "4"}}, {"mode", {"eager", "graph"}}};

/// All metrics NaN but time_us and what follows from it.
inline PointResult result_of(double time_us, double throughput = NAN, double memory = NAN) {
  PointResult r;
  r.values.assign(sweep_metrics().size(), NAN);
  r.values[sweep_metric_index("time_us")] = time_us;
  r.values[sweep_metric_index("throughput_per_s")] = throughput;
  r.values[sweep_metric_index("memory_peak_bytes")] = memory;
  return r;
}

inline Experiment experiment_of(const std::string& text) {
  return parse_experiment(parse_json(text, "dir/e.json"), "dir/e.json", sweep_metric_names());
}

/// An empty folder for one test.
inline std::string scratch_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("tandem_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

}  // namespace tandem::test
