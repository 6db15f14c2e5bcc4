// The papers' figures, drawn from simulated scenarios with the points that the papers state.
#pragma once

#include <string>
#include <vector>

#include "validation/papers/figure.h"
#include "validation/papers/simulations.h"

namespace tandem {

struct DrawnFigure {
  std::string name;  // of the file, without .svg
  std::string svg;
  std::vector<std::string> left_out;  // series without data, and why
};

/// Every figure, each a complete SVG document; one without any data is left out with its reasons.
/// Errors: InputError for a unit that a number cannot be stated in.
std::vector<DrawnFigure> draw_figures(const std::vector<Figure>& figures, Simulations& simulations);

}  // namespace tandem
