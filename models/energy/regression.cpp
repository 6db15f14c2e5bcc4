#include "models/energy/regression.h"

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

using Matrix = std::vector<std::vector<double>>;

/// Columns are scaled so that the normal matrix has ones on its diagonal.
struct Normal {
  Matrix matrix;
  std::vector<double> right;
  std::vector<double> scale;  // 0: an empty column
};

Normal normal_equations(std::span<const Equation> equations) {
  const std::size_t n = equations.empty() ? 0 : equations[0].row.size();
  Normal normal{Matrix(n, std::vector<double>(n, 0.0)), std::vector<double>(n, 0.0),
                std::vector<double>(n, 0.0)};
  for (const Equation& e : equations) {
    for (std::size_t i = 0; i < n; ++i) normal.scale[i] += e.weight * e.row[i] * e.row[i];
  }
  for (double& s : normal.scale) s = s > 0 ? 1 / std::sqrt(s) : 0;
  for (const Equation& e : equations) {
    for (std::size_t i = 0; i < n; ++i) {
      const double left = e.weight * e.row[i] * normal.scale[i];
      normal.right[i] += left * e.target;
      for (std::size_t j = 0; j < n; ++j) {
        normal.matrix[i][j] += left * e.row[j] * normal.scale[j];
      }
    }
  }
  return normal;
}

/// Minimises over one coefficient at a time; the problem is convex, so that converges.
std::vector<double> descend(const Normal& normal) {
  constexpr int most_rounds = 100'000;
  constexpr double tolerance = 1e-12;
  const std::size_t n = normal.right.size();
  std::vector<double> x(n, 0.0);
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (normal.scale[i] == 0) continue;
      double rest = normal.right[i];
      for (std::size_t j = 0; j < n; ++j) {
        if (j != i) rest -= normal.matrix[i][j] * x[j];
      }
      const double next = std::max(0.0, rest);
      change = std::max(change, std::abs(next - x[i]));
      size = std::max(size, next);
      x[i] = next;
    }
    if (change <= tolerance * size) break;
  }
  return x;
}

/// Inverse over the coefficients that are not pinned at 0, by Gauss-Jordan elimination. Rows of the
/// others stay 0.
Matrix inverse_of_free(const Matrix& matrix, const std::vector<double>& x) {
  const std::size_t n = x.size();
  Matrix a = matrix, inverse(n, std::vector<double>(n, 0.0));
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < n; ++i) {
    if (x[i] > 0) free.push_back(i), inverse[i][i] = 1;
  }
  for (const std::size_t i : free) {
    const double pivot = a[i][i];
    if (std::abs(pivot) < 1e-14) continue;  // not identified; its deviation stays as it is
    for (const std::size_t j : free) a[i][j] /= pivot, inverse[i][j] /= pivot;
    for (const std::size_t k : free) {
      if (k == i) continue;
      const double factor = a[k][i];
      for (const std::size_t j : free) {
        a[k][j] -= factor * a[i][j];
        inverse[k][j] -= factor * inverse[i][j];
      }
    }
  }
  return inverse;
}

double residual(const Equation& e, const std::vector<double>& x) {
  double sum = -e.target;
  for (std::size_t i = 0; i < x.size(); ++i) sum += e.row[i] * x[i];
  return sum;
}

double residual_variance(std::span<const Equation> equations, const std::vector<double>& x) {
  double sum = 0;
  for (const Equation& e : equations) sum += e.weight * residual(e, x) * residual(e, x);
  const std::size_t n = x.size();
  return equations.size() > n ? sum / static_cast<double>(equations.size() - n) : 0;
}

}  // namespace

double student_t975(std::size_t degrees_of_freedom) {
  constexpr double exact[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571,
                              2.447, 2.365,  2.306, 2.262, 2.228};
  if (degrees_of_freedom < std::size(exact)) return exact[degrees_of_freedom];
  const double n = static_cast<double>(degrees_of_freedom);
  return 1.96 + 2.372 / n + 2.82 / (n * n);  // Cornish-Fisher; 1e-3 from 10 degrees on
}

Line fit_line(std::span<const double> x, std::span<const double> y) {
  const std::size_t n = std::min(x.size(), y.size());
  if (n < 3) return {};
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < n; ++i) mean_x += x[i], mean_y += y[i];
  mean_x /= static_cast<double>(n);
  mean_y /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx <= 0) return {};
  Line line;
  line.points = n;
  line.slope = xy / xx;
  line.intercept = mean_y - line.slope * mean_x;
  const double rest = std::max(0.0, yy - line.slope * xy);
  line.r2 = yy > 0 ? 1 - rest / yy : 1;
  line.slope_sd = std::sqrt(rest / static_cast<double>(n - 2) / xx);
  line.slope_ci95 = student_t975(n - 2) * line.slope_sd;
  return line;
}

Coefficients solve_nonnegative(std::span<const Equation> equations) {
  const Normal normal = normal_equations(equations);
  const std::vector<double> x = descend(normal);
  const Matrix inverse = inverse_of_free(normal.matrix, x);
  const std::size_t n = x.size();
  Coefficients out;
  out.value.resize(n);
  for (std::size_t i = 0; i < n; ++i) out.value[i] = x[i] * normal.scale[i];
  const double variance = residual_variance(equations, out.value);
  out.covariance = inverse;
  out.sd.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out.covariance[i][j] *= variance * normal.scale[i] * normal.scale[j];
    }
    out.sd[i] = std::sqrt(std::max(0.0, out.covariance[i][i]));
  }
  return out;
}

Coefficients solve_robust(std::vector<Equation> equations, double limit, std::size_t exact) {
  constexpr int rounds = 30;
  std::vector<double> weight;
  for (const Equation& e : equations) weight.push_back(e.weight);
  Coefficients out = solve_nonnegative(equations);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i + exact < equations.size(); ++i) {
      const double off = std::abs(residual(equations[i], out.value));
      equations[i].weight = off <= limit ? weight[i] : weight[i] * limit / off;
    }
    out = solve_nonnegative(equations);
  }
  return out;
}

}  // namespace tandem
