#include <gtest/gtest.h>

#include <cmath>

#include "models/energy/calibration.h"
#include "sim/core/text/csv_rows.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string recordings = source_path("validation/captures/h200_2026-11-20_fit/energy");

TEST(Regression, LineWithNoise) {
  const double x[] = {1, 2, 3, 4, 5, 6};
  const double y[] = {5.1, 6.9, 9.1, 10.9, 13.1, 14.9};  // 2 x + 3
  const Line line = fit_line(x, y);
  EXPECT_NEAR(line.slope, 34.7 / 17.5, 1e-9);
  EXPECT_NEAR(line.intercept, 3.06, 1e-9);
  EXPECT_GT(line.r2, 0.999);
  EXPECT_NEAR(line.slope_ci95, 2.776 * line.slope_sd, 1e-9);
  EXPECT_LT(std::abs(line.slope - 2), line.slope_ci95);
}

TEST(Regression, LineNeedsThreePointsThatDiffer) {
  const double same[] = {1, 1, 1}, two[] = {1, 2};
  EXPECT_EQ(fit_line(same, same).points, 0U);
  EXPECT_EQ(fit_line(two, two).points, 0U);
}

TEST(Regression, StudentQuantiles) {
  EXPECT_NEAR(student_t975(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t975(10), 2.228, 5e-3);
  EXPECT_NEAR(student_t975(30), 2.042, 5e-3);
  EXPECT_NEAR(student_t975(100'000), 1.96, 1e-3);
}

std::vector<Equation> equations(const std::vector<double>& truth, double outlier = 0) {
  std::vector<Equation> out;
  for (int i = 0; i < 40; ++i) {
    Equation e{{1.0, std::sin(i) + 1, 1e12 * (i % 7), std::cos(3.0 * i) + 1}, 0, 1};
    for (std::size_t k = 0; k < truth.size(); ++k) e.target += truth[k] * e.row[k];
    if (i == 11) e.target += outlier;
    out.push_back(e);
  }
  return out;
}

TEST(Regression, RecoversCoefficientsOfVeryDifferentScale) {
  const std::vector<double> truth{100, 20, 3e-12, 7};
  const Coefficients c = solve_nonnegative(equations(truth));
  for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(c.value[i] / truth[i], 1, 1e-6);
}

TEST(Regression, NeverNegative) {
  const Coefficients c = solve_nonnegative(equations({100, 20, 3e-12, -7}));
  EXPECT_EQ(c.value[3], 0);
  EXPECT_EQ(c.sd[3], 0);
}

TEST(Regression, RobustAgainstOneOutlier) {
  const std::vector<double> truth{100, 20, 3e-12, 7};
  const Coefficients plain = solve_nonnegative(equations(truth, 500));
  const Coefficients robust = solve_robust(equations(truth, 500), 1);
  EXPECT_GT(std::abs(plain.value[0] - 100), 3);
  EXPECT_NEAR(robust.value[0], 100, 1);
}

TEST(Regression, EmptyColumnAndNoEquations) {
  const std::vector<Equation> e{{{1, 0}, 2, 1}, {{1, 0}, 2, 1}, {{2, 0}, 4, 1}};
  EXPECT_NEAR(solve_nonnegative(e).value[0], 2, 1e-9);
  EXPECT_EQ(solve_nonnegative(e).value[1], 0);
  EXPECT_TRUE(solve_nonnegative({}).value.empty());
}

// A counter that steps every 100 ms, read every 7 ms, at 300 W.
std::vector<PowerSample> stepping(bool counter) {
  std::vector<PowerSample> samples;
  for (int i = 0; i < 300; ++i) {
    const double t = 0.007 * i;
    samples.push_back({t, counter ? 1000 + 300 * std::floor(t / 0.1) * 0.1 : -1, 310});
  }
  return samples;
}

TEST(PowerLog, SlopeThroughTheStepsOfTheCounter) {
  const auto power = window_power(stepping(true), 0.35, 1.9);
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->power_w, 300, 3);
  EXPECT_GT(power->steps, 10U);
  EXPECT_GT(power->sd_w, 0);
}

TEST(PowerLog, WithoutACounterTheReadingsCount) {
  const auto power = window_power(stepping(false), 0.35, 1.9);
  ASSERT_TRUE(power);
  EXPECT_EQ(power->power_w, 310);
  EXPECT_EQ(power->steps, 0U);
  EXPECT_FALSE(window_power(stepping(false), 50, 60));
  EXPECT_FALSE(window_power({}, 0, 1));
}

class Recorded : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return recordings + "/" + GetParam(); }
  std::vector<PowerSample> samples() const { return read_power_log(folder() + "/samples.csv"); }
};

TEST_P(Recorded, PhasesAreFoundInThePowerAlone) {
  const auto marks = read_csv(folder() + "/phases.csv");
  std::vector<PowerSample> part = samples();
  std::erase_if(part, [&](auto& s) { return s.time_s > marks.back().number("time_s"); });
  const auto phases = find_phases(part);
  ASSERT_TRUE(phases);
  EXPECT_NEAR(phases->t1, marks[1].number("time_s"), 0.6);  // the context takes a while
  EXPECT_NEAR(phases->t2, marks[2].number("time_s"), 0.2);
  EXPECT_NEAR(phases->t3, marks[3].number("time_s"), 0.2);
  EXPECT_NEAR(phases->t4, marks[4].number("time_s"), 2.5);  // clocks come down later
  EXPECT_LT(phases->sleep_w, 90);
  EXPECT_NEAR(phases->idle_w, 118, 4);
  EXPECT_GT(phases->active_w, 300);
}

TEST_P(Recorded, LevelsInOrderAndPreciseEnough) {
  std::vector<DroppedPoint> dropped;
  const auto points = read_points(folder() + "/points.csv", samples(), dropped);
  const Estimate idle = mean_power(points, "idle");
  EXPECT_NEAR(idle.value, 119, 2);
  double previous = 0;
  for (const char* level : {"shared_load", "l1_load", "l2_load", "dram_load"}) {
    const auto c = calibrate_access(points, level, idle, &CalibrationPoint::sectors);
    ASSERT_TRUE(c) << level;
    EXPECT_GT(c->bound_pj.value, 1.5 * previous) << level;
    EXPECT_LT(c->bound_pj.ci95, 0.05 * c->bound_pj.value) << level;
    EXPECT_GT(c->line.r2, 0.99) << level;
    // Thesis figure 5.8: a single thread a block costs many times the plateau.
    EXPECT_GT(c->curve.front().pj.value, 5 * c->bound_pj.value) << level;
    previous = c->bound_pj.value;
  }
}

TEST_P(Recorded, DivisionCostsTheSameAtEveryLevel) {
  std::vector<DroppedPoint> dropped;
  const auto points = read_points(folder() + "/points.csv", samples(), dropped);
  const Estimate idle = mean_power(points, "idle");
  const auto l1 = divide_energy(points, "l1_load", "l1_divide", idle);
  const auto l2 = divide_energy(points, "l2_load", "l2_divide", idle);
  ASSERT_TRUE(l1 && l2);
  EXPECT_NEAR(l1->value / l2->value, 1, 0.15);
  EXPECT_FALSE(divide_energy(points, "l1_load", "no_such_kernel", idle));
}

TEST_P(Recorded, BusySmsDrawPowerInProportion) {
  std::vector<DroppedPoint> dropped;
  const Line sm = active_sm_power(read_points(folder() + "/points.csv", samples(), dropped), 132);
  EXPECT_NEAR(sm.slope, 1.08, 0.05);
  EXPECT_GT(sm.r2, 0.999);
}

INSTANTIATE_TEST_SUITE_P(H200, Recorded, testing::Values("session1", "session2"));

}  // namespace
}  // namespace tandem
