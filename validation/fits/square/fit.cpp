#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "validation/fits/square/points.h"

namespace tandem {
namespace {

using C = TinyConstants;

constexpr std::array<FittedConstant, 7> fitted = {{
    {"device_block_cycles", &C::device_block_cycles},
    {"sm_block_cycles", &C::sm_block_cycles},
    {"cold_life_cycles", &C::cold_life_cycles},
    {"request_rate", &C::request_rate},
    {"request_rate_line", &C::request_rate_line},
    {"queue_stores", &C::queue_stores},
    {"stall_fill", &C::stall_fill},
}};

// Logarithms of the constants over their start values, and the cost there.
struct Vertex {
  std::array<double, fitted.size()> x{};
  double cost = 0;
};
using Cost = std::function<double(const Vertex&)>;

TinyConstants constants_at(const TinyConstants& start, const Vertex& v) {
  TinyConstants constants = start;
  for (std::size_t i = 0; i < fitted.size(); ++i) constants.*fitted[i].member *= std::exp(v.x[i]);
  return constants;
}

// The point on the line from `from` through `to`, `factor` of the way.
Vertex along(const Vertex& from, const Vertex& to, double factor, const Cost& cost) {
  Vertex v;
  for (std::size_t i = 0; i < v.x.size(); ++i) v.x[i] = from.x[i] + factor * (to.x[i] - from.x[i]);
  v.cost = cost(v);
  return v;
}

Vertex centre_of_all_but_last(const std::vector<Vertex>& simplex) {
  Vertex centre;
  for (std::size_t k = 0; k + 1 < simplex.size(); ++k) {
    for (std::size_t i = 0; i < centre.x.size(); ++i) {
      centre.x[i] += simplex[k].x[i] / static_cast<double>(simplex.size() - 1);
    }
  }
  return centre;
}

// One step of Nelder and Mead: reflect the worst vertex, expand, contract or shrink.
void step(std::vector<Vertex>& simplex, const Cost& cost) {
  std::sort(simplex.begin(), simplex.end(),
            [](const Vertex& a, const Vertex& b) { return a.cost < b.cost; });
  const Vertex centre = centre_of_all_but_last(simplex);
  Vertex& worst = simplex.back();
  const Vertex reflected = along(worst, centre, 2, cost);
  if (reflected.cost < simplex.front().cost) {
    const Vertex expanded = along(worst, centre, 3, cost);
    worst = expanded.cost < reflected.cost ? expanded : reflected;
  } else if (reflected.cost < simplex[simplex.size() - 2].cost) {
    worst = reflected;
  } else if (const Vertex contracted = along(worst, centre, 0.5, cost);
             contracted.cost < worst.cost) {
    worst = contracted;
  } else {
    for (std::size_t k = 1; k < simplex.size(); ++k) {
      simplex[k] = along(simplex.front(), simplex[k], 0.5, cost);
    }
  }
}

Vertex minimum(const Vertex& start, const Cost& cost) {
  constexpr int steps = 600;
  constexpr double size = 0.3;
  std::vector<Vertex> simplex{start};
  simplex.front().cost = cost(start);
  for (std::size_t i = 0; i < start.x.size(); ++i) {
    Vertex v = start;
    v.x[i] += size;
    v.cost = cost(v);
    simplex.push_back(v);
  }
  for (int i = 0; i < steps; ++i) step(simplex, cost);
  return *std::min_element(simplex.begin(), simplex.end(),
                           [](const Vertex& a, const Vertex& b) { return a.cost < b.cost; });
}

}  // namespace

std::span<const FittedConstant> fitted_constants() { return fitted; }

TinyConstants fit_constants(const GpuArch& gpu, std::span<const SquarePoint> points,
                            const TinyConstants& start) {
  // The ratios alone would leave periods wrong by factors.
  constexpr double period_weight = 0.25;
  const Cost cost = [&](const Vertex& v) {
    const SquareErrors e = errors_of(gpu, points, StoreTarget::same_lines, constants_at(start, v));
    return e.smact + e.smocc + period_weight * e.log_period;
  };
  constexpr int restarts = 8;  // a simplex collapses: begin again where it did
  Vertex best;
  for (int i = 0; i < restarts; ++i) best = minimum(best, cost);
  return constants_at(start, best);
}

}  // namespace tandem
