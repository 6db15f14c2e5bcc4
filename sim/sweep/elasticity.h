// How much a metric follows each number of the GPU.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/sweep/grid.h"
#include "sim/sweep/metrics.h"

namespace tandem {

/// d ln(metric) / d ln(parameter): -1 where doubling the parameter halves the metric.
struct Elasticity {
  std::string parameter;
  double low = 0, high = 0;                // the parameter's values on both sides
  double metric_low = 0, metric_high = 0;  // the metric there
  double elasticity = 0;                   // NaN where it has none
  std::string error;                       // why; empty if all is well
};

/// Two points for each parameter, one step below and one above the scenario `at`, in this order.
std::vector<Point> elasticity_points(const ElasticityQuestion& question);

/// `results` stand parallel to elasticity_points(question). `parameter_value` says what the
/// parameter is at a point: whole numbers are rounded, so not exactly a step away. Sorted by
/// magnitude, largest first; what has no elasticity last.
std::vector<Elasticity> elasticities(
    const ElasticityQuestion& question, std::span<const PointResult> results,
    const std::function<double(const Point&, const std::string& parameter)>& parameter_value);

}  // namespace tandem
