#include "sim/sweep/grid.h"

namespace tandem {

std::vector<Point> grid_points(const std::vector<Axis>& axes) {
  std::vector<Point> points(1);
  for (const Axis& axis : axes) {
    std::vector<Point> next;
    next.reserve(points.size() * axis.values.size());
    for (const Point& point : points) {
      for (const std::string& value : axis.values) {
        next.push_back(point);
        next.back().push_back({axis.name, value});
      }
    }
    points = std::move(next);
  }
  return points;
}

std::string to_text(const Point& point) {
  if (point.empty()) return "as traced";
  std::string text;
  for (const Setting& s : point) text += (text.empty() ? "" : " ") + s.name + "=" + s.value;
  return text;
}

std::string value_of(const Point& point, std::string_view axis) {
  for (const Setting& s : point) {
    if (s.name == axis) return s.value;
  }
  return "";
}

}  // namespace tandem
