#include "sim/sweep/grid.h"

namespace tandem {

std::vector<Point> grid_points(const std::vector<Axis>& axes) {
  std::vector<Point> points;
  points.reserve(grid_size(axes));
  for (std::size_t i = 0; i < grid_size(axes); ++i) points.push_back(grid_point(axes, i));
  return points;
}

std::size_t grid_size(const std::vector<Axis>& axes) {
  std::size_t size = 1;
  for (const Axis& axis : axes) size *= axis.values.size();
  return size;
}

Point grid_point(const std::vector<Axis>& axes, std::size_t index) {
  Point point(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    point[a] = {axes[a].name, axes[a].values[index % axes[a].values.size()]};
    index /= axes[a].values.size();
  }
  return point;
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
