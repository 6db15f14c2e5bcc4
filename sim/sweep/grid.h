// The points of a sweep: the product of its axes in a fixed order.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "sim/sweep/experiment.h"

namespace tandem {

/// One value on one axis, as reports show it.
struct Setting {
  std::string name;
  std::string value;
  auto operator<=>(const Setting&) const = default;
};

/// A scenario. Settings stand in the order of the axes.
using Point = std::vector<Setting>;

/// All combinations, the last axis fastest.
std::vector<Point> grid_points(const std::vector<Axis>& axes);

/// How many those are, and the one at `index` among them.
std::size_t grid_size(const std::vector<Axis>& axes);
Point grid_point(const std::vector<Axis>& axes, std::size_t index);

/// "batch=64 precision=amp"; "as traced" without settings.
std::string to_text(const Point& point);

/// The value on an axis, or empty.
std::string value_of(const Point& point, std::string_view axis);

}  // namespace tandem
