// A result that cannot be is a bug that names field and value.
#include "sim/predict/invariants/invariants.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>

#include "sim/predict/invariants/result_check.h"

namespace tandem {
namespace {

std::string error_of(const std::function<void(Result&)>& spoil) {
  Result result;
  result.gpu_step.emplace();
  result.energy.emplace();
  spoil(result);
  try {
    check_result(result);
  } catch (const std::logic_error& bug) {
    return bug.what();
  }
  return "";
}

TEST(Invariants, OfResultsNameFieldAndValue) {
  EXPECT_EQ(error_of([](Result&) {}), "");
  EXPECT_EQ(error_of([](Result& r) { r.step.time_us = -1; }),
            "result: step.time_us is -1, not 0 or more");
  EXPECT_EQ(error_of([](Result& r) { r.step.time_us = std::numeric_limits<double>::quiet_NaN(); }),
            "result: step.time_us is nan, not a finite number");
  EXPECT_EQ(error_of([](Result& r) { r.step.gract = 1.5; }),
            "result: step.gract is 1.5, not 0 to 1");
  EXPECT_EQ(error_of([](Result& r) { r.step.gpu_busy_us = 5; }),
            "result: step.gpu_busy_us is 5, not at most time_us, 0");
  EXPECT_EQ(error_of([](Result& r) {
              r.gpu_step->smsp_elapsed_cycles = 10;
              r.gpu_step->smsp_active_cycles = 4;
              r.gpu_step->smsp_issue_cycles = 5;
            }),
            "result: step.smsp_issue_cycles is 5, not at most smsp_active_cycles, 4");
  EXPECT_EQ(error_of([](Result& r) { r.energy->static_j = 2; }),
            "result: energy.static_j is 2, not at most energy_j, 0");
}

TEST(Invariants, RangesFollowUnitsAndExceptions) {
  EXPECT_EQ(range_of("mfu", "ratio").most, 1);
  EXPECT_GT(range_of("expected_error", "ratio").most, 1);
  EXPECT_EQ(range_of("time_us", "us").least, 0);
  EXPECT_LT(range_of("change_us", "us").least, 0);
  EXPECT_LT(range_of("measured", "any").least, 0);
  EXPECT_EQ(out_of({0, 1}, 1 + 1e-9), "");  // rounding
  EXPECT_EQ(out_of({0, 1}, 1.1), "is 1.1, not 0 to 1");
  EXPECT_TRUE(in_order(1, 1 - 1e-9));
  EXPECT_FALSE(in_order(1, 0.9));
}

}  // namespace
}  // namespace tandem
