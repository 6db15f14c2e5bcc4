// What a sweep keeps of each prediction: one number for each of a fixed list of metrics.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/predict/result.h"

namespace tandem {

struct SweepMetric {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  std::function<double(const Result&)> value;  // NaN: not known for this point
};

/// Step metrics, GPU metrics of the step, memory, energy, and how far all that can be trusted.
std::span<const SweepMetric> sweep_metrics();
std::vector<std::string_view> sweep_metric_names();
/// Errors: InputError for a name that is not one of sweep_metrics().
std::size_t sweep_metric_index(std::string_view name);

/// A unit as people read it, and what a number takes to be in it: microseconds and bytes are hard
/// to read in the millions.
struct ReadableUnit {
  std::string_view name;
  double factor = 1;
};
ReadableUnit readable_unit(std::string_view unit);

/// What became of one point: numbers parallel to sweep_metrics(), or why there are none.
struct PointResult {
  std::vector<double> values;  // empty: failed
  std::string error;
  bool failed() const { return !error.empty(); }
};

/// Every metric of `result`; what is not finite becomes NaN.
PointResult measure_point(const Result& result);

}  // namespace tandem
