// A sweep as lines over one axis, which pictures and pages draw.
#pragma once

#include <string>
#include <vector>

#include "sim/sweep/tables.h"

namespace tandem {

/// Points that differ on one axis only, in the order of the grid.
struct SweepLine {
  std::string name;
  std::vector<std::size_t> points;
};

/// The axis that lines run along: batch, else the first one with several numbers; null: none.
const Axis* line_axis(const Experiment& experiment);

/// The number of the point on the axis; "x0.5" is 0.5.
double coordinate(const Point& point, const std::string& axis);

/// What tells the point's line from others. Axes of one value say nothing in a legend.
std::string line_name(const Sweep& sweep, const Point& point, const std::string& along);

std::vector<SweepLine> lines_along(const Sweep& sweep, const std::string& axis);

/// Whether the point's peak of memory is more than its GPU has; not where it is not known.
bool fits_not(const Sweep& sweep, std::size_t point);
inline constexpr const char* does_not_fit = "does not fit the GPU's memory";

/// Whether any number of the column is known.
bool any_known(const std::vector<double>& column);

}  // namespace tandem
