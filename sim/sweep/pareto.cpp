#include "sim/sweep/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace tandem {

std::vector<std::size_t> pareto_front(std::span<const double> x, std::span<const double> y,
                                      Goal x_goal, Goal y_goal) {
  const double x_sign = x_goal == Goal::min ? 1 : -1;
  const double y_sign = y_goal == Goal::min ? 1 : -1;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i]) && !std::isnan(y[i])) order.push_back(i);
  }
  // Best x first, and of equal x the best y: a point is on the front if its y beats all before.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::make_tuple(x_sign * x[a], y_sign * y[a], a) <
           std::make_tuple(x_sign * x[b], y_sign * y[b], b);
  });
  std::vector<std::size_t> front;
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    const bool equal = !front.empty() && x[front.back()] == x[i] && y[front.back()] == y[i];
    if (y_sign * y[i] < best || equal) front.push_back(i);
    best = std::min(best, y_sign * y[i]);
  }
  std::sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(x[a], y[a], a) < std::tie(x[b], y[b], b);
  });
  return front;
}

}  // namespace tandem
