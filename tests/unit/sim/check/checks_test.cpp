#include "sim/check/checks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/report/check_report.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TempFile;
using test::TraceMaker;

CheckLimits limits() { return load_check_limits(source_path("configs/checks.json")); }

CheckReport check_of(Trace trace) {
  ReplayOptions o;
  o.configs = source_path("configs");
  return check(analyse(std::move(trace), o), limits());
}

const Finding* find(const CheckReport& report, std::string_view code) {
  for (const Finding& f : report.findings) {
    if (f.code == code) return &f;
  }
  return nullptr;
}

/// Two steps of 100 launches each, 20 us apart; kernels begin 4 us after their launch and run 3 us.
Trace loop(double drift_ppm = 0) {
  TraceMaker m;
  for (int s = 0; s < 2; ++s) {
    m.step(s, s * 2000, 2000);
    for (int i = 0; i < 100; ++i) {
      const double begin = s * 2000 + i * 20;
      const int id = s * 100 + i;
      m.call("cudaLaunchKernel", begin, 2, id);
      m.kernel((begin + 4) * (1 + drift_ppm * 1e-6), 3, id);
    }
  }
  return std::move(m.trace);
}

TEST(Check, NothingIsWrongWithARegularLoop) {
  const CheckReport report = check_of(loop());
  EXPECT_EQ(find(report, "impossible_launches"), nullptr);
  EXPECT_FALSE(report.any(Concern::wrong)) << check_text({}, report);
  EXPECT_EQ(report.checks, checks().size());
  EXPECT_EQ(report.verdicts.size(), std::size(uses));
}

TEST(Check, LaunchesThatTheGpuCannotHold) {
  Trace trace = loop();
  trace.geometries.push_back({{1, 1, 1}, {1024, 1, 1}, 255, 0});  // 261,120 of 65,536 registers
  trace.geometries.push_back({{1, 1, 1}, {32, 1, 1}, 32, 1'000'000});  // of at most 232,448 B
  const auto last = static_cast<std::uint32_t>(trace.geometries.size());
  trace.activities.geometry[30] = GeometryId(last - 2);
  trace.activities.geometry[31] = GeometryId(last - 1);
  ReplayOptions o;
  o.configs = source_path("configs");
  const TracedRun run = analyse(std::move(trace), o);
  EXPECT_EQ(run.losses.count("impossible_launches"), 2);
  const CheckReport report = check(run, limits());
  const Finding* found = find(report, "impossible_launches");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->seen.concern, Concern::wrong);
  EXPECT_DOUBLE_EQ(found->seen.value, 2.0 / 200);
}

TEST(Check, DriftIsTheSlopeOfTheShortestLaunches) {
  // 1000 ppm over 4 ms: the last kernels begin 4 us late.
  const CheckReport report = check_of(loop(1000));
  const Finding* drift = find(report, "clock_drift");
  ASSERT_NE(drift, nullptr);
  EXPECT_EQ(drift->seen.concern, Concern::wrong);
  EXPECT_NEAR(drift->seen.value, 1000, 20);
}

TEST(Check, KernelBeforeItsLaunch) {
  Trace trace = loop();
  trace.activities.begin[30] -= microseconds(6);  // 2 us before the call
  const CheckReport report = check_of(std::move(trace));
  const Finding* early = find(report, "kernel_before_launch");
  ASSERT_NE(early, nullptr);
  EXPECT_NEAR(early->seen.value, 2, 1e-6);
  EXPECT_NE(early->seen.place.find("ProfilerStep#0, 0.598 ms"), std::string::npos)
      << early->seen.place;
}

TEST(Check, AClockThatIsBehindIsSaidThoughItWasMoved) {
  Trace trace = loop();
  for (TimePoint& begin : trace.activities.begin) begin -= microseconds(504);
  const CheckReport report = check_of(std::move(trace));
  const Finding* early = find(report, "kernel_before_launch");
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->seen.concern, Concern::doubt);
  EXPECT_NEAR(early->seen.value, 500, 1e-6);  // 504 less the 4 that a launch takes
  EXPECT_EQ(find(report, "kernel_after_wait"), nullptr);
}

/// Steps of so many launches, 20 us apart, as long as these take.
Trace steps_of(const std::vector<int>& launches) {
  TraceMaker m;
  double begin = 0;
  std::int64_t id = 0;
  for (std::size_t s = 0; s < launches.size(); ++s) {
    m.step(static_cast<std::int64_t>(s), begin, 20.0 * launches[s]);
    for (int i = 0; i < launches[s]; ++i) {
      m.call("cudaLaunchKernel", begin + 20 * i, 10, id);
      m.kernel(begin + 20 * i + 4, 3, id++);
    }
    begin += 20.0 * launches[s];
  }
  return std::move(m.trace);
}

TEST(Check, AStepOfAnotherKindIsNeitherCutNorAWarmUp) {
  EXPECT_EQ(find(check_of(steps_of({60, 60, 60, 60, 20})), "truncated"), nullptr);
  EXPECT_EQ(find(check_of(steps_of({60, 20, 20, 20, 20})), "warm_up_inside"), nullptr);
}

TEST(Check, AStepThatLaunchesNoMoreButLastsLongerIsAWarmUp) {
  Trace trace = steps_of({20, 20, 20, 20});
  for (TimePoint& begin : trace.annotations.begin) begin += from_us(1000);
  for (TimePoint& begin : trace.calls.begin) begin += from_us(1000);
  for (TimePoint& begin : trace.activities.begin) begin += from_us(1000);
  trace.annotations.begin[0] -= from_us(1000);
  trace.annotations.duration[0] += from_us(1000);
  EXPECT_NE(find(check_of(std::move(trace)), "warm_up_inside"), nullptr);
}

TEST(Check, AStepThatStopsWhileItsMarkGoesOnIsCut) {
  Trace trace = steps_of({60, 60, 20});
  trace.annotations.duration[2] = from_us(1200);  // 400 of it with launches
  EXPECT_NE(find(check_of(std::move(trace)), "truncated"), nullptr);
}

TEST(Check, LaunchesAndKernelsWithoutPartner) {
  // Kernel 10 has lost its number, which leaves its launch empty: one pair of 200 launches.
  Trace pair = loop();
  pair.activities.correlation[10] = -1;
  const CheckReport lost = check_of(std::move(pair));
  const Finding* numbers = find(lost, "missing_correlations");
  ASSERT_NE(numbers, nullptr);
  EXPECT_DOUBLE_EQ(numbers->seen.value, 1.0 / 200);
  EXPECT_EQ(find(lost, "dropped_kernels"), nullptr);
  EXPECT_EQ(find(lost, "missing_launches"), nullptr);
}

TEST(Check, VerdictIsTheWorstFindingOfAUse) {
  Trace trace = loop();
  trace.annotations.step[1] = 3;  // steps 0 and 3: two are missing
  const CheckReport report = check_of(std::move(trace));
  const auto json = check_json({}, report);
  EXPECT_EQ(json["verdicts"]["step time"]["verdict"], "wrong");
  EXPECT_EQ(json["verdicts"]["step time"]["because"][0], "missing_steps");
  EXPECT_EQ(json["verdicts"]["kernel times"]["verdict"], "good");
  EXPECT_EQ(json["findings"][0]["value"], 2);
  EXPECT_NE(check_text({}, report).find("wrong  missing_steps: "), std::string::npos);
}

TEST(Check, EveryCheckSaysWhatItIsFor) {
  std::size_t rows = 0;
  for (const Check& c : checks()) {
    EXPECT_NE(c.touches.bits, 0) << c.name;
    EXPECT_FALSE(c.doc.empty() || c.means.empty() || c.advice.empty()) << c.name;
    ++rows;
  }
  EXPECT_GT(rows, 20U);
}

TEST(Check, LimitsAreReadWhole) {
  const TempFile file(R"({"name": "x", "constants": {"drift_ppm": {"value": 1}}})", "checks.json");
  EXPECT_THROW(load_check_limits(file.path()), InputError);
}

}  // namespace
}  // namespace tandem
