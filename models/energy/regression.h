// Least squares for small models: plain lines with their quality, and several non-negative
// coefficients with priors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem {

/// y = slope x + intercept.
struct Line {
  double slope = 0;
  double intercept = 0;
  double r2 = 0;
  double slope_sd = 0;    // standard error
  double slope_ci95 = 0;  // half width of the 95 % confidence interval (Student's t)
  std::size_t points = 0;
};
/// Needs three points with two distinct x; otherwise `points` is 0.
Line fit_line(std::span<const double> x, std::span<const double> y);

/// 97.5 % quantile of Student's t.
double student_t975(std::size_t degrees_of_freedom);

/// One equation: sum of row[i] * coefficient[i] = target, with its weight.
struct Equation {
  std::vector<double> row;
  double target = 0;
  double weight = 1;
};

struct Coefficients {
  std::vector<double> value;                    // none negative
  std::vector<double> sd;                       // from the residuals
  std::vector<std::vector<double>> covariance;  // of them
};

/// Non-negative weighted least squares. Columns may differ in scale by many orders of magnitude.
/// A column without any entry gets the coefficient 0.
Coefficients solve_nonnegative(std::span<const Equation> equations);

/// The same with Huber's weights: an equation that is off by more than `limit` counts less. The
/// last `exact` equations (priors) keep their weight.
Coefficients solve_robust(std::vector<Equation> equations, double limit, std::size_t exact = 0);

}  // namespace tandem
