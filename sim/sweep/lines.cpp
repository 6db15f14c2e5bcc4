#include "sim/sweep/lines.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace tandem {

namespace {

/// A number on the axis; "x0.5" is 0.5.
bool number_of(const std::string& text, double& value) {
  const char* begin = text.c_str() + (text.starts_with("x") ? 1 : 0);
  char* end = nullptr;
  value = std::strtod(begin, &end);
  return end != begin && *end == '\0' && std::isfinite(value);
}

}  // namespace

const Axis* line_axis(const Experiment& e) {
  const Axis* found = nullptr;
  for (const Axis& axis : e.axes) {
    double ignored = 0;
    const bool numbers = std::all_of(axis.values.begin(), axis.values.end(),
                                     [&](const std::string& v) { return number_of(v, ignored); });
    if (axis.values.size() < 2 || !numbers) continue;
    if (axis.name == "batch") return &axis;
    if (found == nullptr) found = &axis;
  }
  return found;
}

double coordinate(const Point& point, const std::string& axis) {
  double value = 0;
  number_of(value_of(point, axis), value);
  return value;
}

std::string line_name(const Sweep& sweep, const Point& point, const std::string& along) {
  std::string name;
  for (std::size_t a = 0; a < point.size(); ++a) {
    if (point[a].name == along || sweep.experiment.axes[a].values.size() < 2) continue;
    const bool plain = !point[a].name.starts_with("gpu.");
    name += (name.empty() ? "" : ", ") +
            (plain ? point[a].value : point[a].name.substr(4) + " " + point[a].value);
  }
  return name;
}

std::vector<SweepLine> lines_along(const Sweep& sweep, const std::string& axis) {
  std::vector<SweepLine> lines;
  std::map<std::string, std::size_t> index;
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    const std::string name = line_name(sweep, sweep.points[p], axis);
    const auto [at, is_new] = index.emplace(name, lines.size());
    if (is_new) lines.push_back({name, {}});
    lines[at->second].points.push_back(p);
  }
  for (SweepLine& line : lines) {
    std::stable_sort(line.points.begin(), line.points.end(), [&](std::size_t a, std::size_t b) {
      return coordinate(sweep.points[a], axis) < coordinate(sweep.points[b], axis);
    });
  }
  return lines;
}

bool fits_not(const Sweep& sweep, std::size_t point) {
  const PointResult& result = sweep.results[point];
  return !result.failed() && result.values[sweep_metric_index("fits")] == 0;
}

bool any_known(const std::vector<double>& column) {
  return std::any_of(column.begin(), column.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace tandem
