// Figures of papers as data: which numbers of which scenarios are drawn, and what a paper states.
#pragma once

#include <string>
#include <vector>

#include "validation/papers/claim.h"

namespace tandem {

/// A point that the papers give, in a figure.
struct StatedPoint {
  double x = 0, y = 0;
};

/// A line of a figure: scenarios in order, one number over another.
struct FigureSeries {
  std::string name;
  std::vector<Grid> of;
  Grid over;  // as in a ClaimCheck
  Combine by = Combine::none;
  std::vector<StatedPoint> stated;  // in place of scenarios: what the paper gives
};

struct FigurePanel {
  Place place;
  std::string title;
  std::string x_label, y_label;
  std::vector<std::string> x, y;  // metrics; x may be the name of a setting
  std::vector<std::string> y_per;
  std::string y_unit, x_unit;
  bool log_x = false;
  std::vector<FigureSeries> series;
};

/// A figure of a paper, drawn from scenarios.
struct Figure {
  std::string name;  // of the file, without .svg
  std::vector<FigurePanel> panels;
};

/// Errors: InputError `file:key: found X, expected Y` for a malformed row.
Figure read_figure(const Json& json, const Place& place, const RowReader& reader);

}  // namespace tandem
