#include "sim/sweep/elasticity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem {

namespace {

double log_ratio(double high, double low) { return std::log(high / low); }

void set_elasticity(Elasticity& e) {
  if (e.low <= 0 || e.high <= e.low) {
    e.error = "a step is too small to change the value, or the value is 0";
  } else if (!(e.metric_low > 0 && e.metric_high > 0)) {
    e.error = "the metric is 0 or unknown";
  } else {
    e.elasticity = log_ratio(e.metric_high, e.metric_low) / log_ratio(e.high, e.low);
  }
}

}  // namespace

std::vector<Point> elasticity_points(const ElasticityQuestion& question) {
  std::vector<Point> points;
  for (const std::string& parameter : question.parameters) {
    for (const double factor : {1 - question.step, 1 + question.step}) {
      Point point = grid_points(question.at).front();
      point.push_back({parameter, fmt::format("x{:g}", factor)});
      points.push_back(std::move(point));
    }
  }
  return points;
}

std::vector<Elasticity> elasticities(
    const ElasticityQuestion& question, std::span<const PointResult> results,
    const std::function<double(const Point&, const std::string& parameter)>& parameter_value) {
  const std::vector<Point> points = elasticity_points(question);
  const std::size_t metric = sweep_metric_index(question.metric);
  std::vector<Elasticity> out;
  for (std::size_t i = 0; i < question.parameters.size(); ++i) {
    const PointResult& low = results[2 * i];
    const PointResult& high = results[2 * i + 1];
    Elasticity e;
    e.parameter = question.parameters[i];
    e.elasticity = std::numeric_limits<double>::quiet_NaN();
    e.error = low.failed() ? low.error : high.error;
    if (e.error.empty()) {
      e.low = parameter_value(points[2 * i], e.parameter);
      e.high = parameter_value(points[2 * i + 1], e.parameter);
      e.metric_low = low.values[metric];
      e.metric_high = high.values[metric];
      set_elasticity(e);
    }
    out.push_back(std::move(e));
  }
  const auto size = [](const Elasticity& e) {
    return std::isnan(e.elasticity) ? -1.0 : std::abs(e.elasticity);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const Elasticity& a, const Elasticity& b) { return size(a) > size(b); });
  return out;
}

}  // namespace tandem
