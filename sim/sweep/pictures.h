// The pictures of a sweep: thesis figures 4.1, 4.4 and 4.5, energy, Pareto front, elasticities.
#pragma once

#include <string>
#include <vector>

#include "sim/sweep/tables.h"

namespace tandem {

struct Picture {
  std::string name;  // file name without .svg
  std::string svg;
};

/// Those that the sweep has data for, each a complete SVG document.
std::vector<Picture> sweep_pictures(const Sweep& sweep);

}  // namespace tandem
