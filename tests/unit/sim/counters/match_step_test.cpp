#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "models/step/attribution.h"
#include "sim/counters/match.h"
#include "sim/counters/step_kernels.h"
#include "sim/counters/utilization.h"
#include "sim/report/match_report.h"
#include "tests/counters_files.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

/// A step a string, a kernel a letter: launched every 10 us, run for 5 us, 100 us later.
struct Steps {
  explicit Steps(const std::vector<std::string>& letters) {
    double now = 0;
    std::int64_t number = 3;
    for (const std::string& step : letters) {
      const double us = 10 * static_cast<double>(step.size() + 1);
      maker.step(number++, now, us);
      for (std::size_t i = 0; i < step.size(); ++i) {
        const double launch = now + 10 * static_cast<double>(i) + 1;
        maker.launch(launch, 2, ++correlation);
        maker.kernel(launch + 100, 5, correlation, 0, std::string("kernel_") + step[i]);
      }
      now += us;
    }
    links = link_trace(maker.trace);
  }
  test::TraceMaker maker;
  std::int64_t correlation = 0;
  Links links;
};

/// Elapsed cycles 1000, active 500, of the n-th row 100 n cycles of instructions.
CounterReport report_of(const std::string& letters, std::int64_t processes = 1) {
  std::string text =
      test::csv_row(test::raw_columns({"smsp__cycles_elapsed.sum", "smsp__cycles_active.sum",
                                       "smsp__issue_active.sum", "gpu__time_duration.sum"})) +
      test::csv_row(test::raw_units({"cycle", "cycle", "cycle", "us"}));
  for (std::size_t i = 0; i < letters.size(); ++i) {
    auto row = test::raw_kernel(std::to_string(i), std::string("kernel_") + letters[i],
                                {"1000", "500", std::to_string(100 * i), "5"});
    row[1] = std::to_string(i % static_cast<std::size_t>(processes));
    text += test::csv_row(row);
  }
  return test::read_report(text);
}

StepMatch match(const Steps& steps, const CounterReport& report, std::size_t step = 0) {
  return match_step(steps.maker.trace, steps.links, report, step);
}

/// The row of each kernel as a digit; '-': none, 's': another kernel ran in the place.
std::string rows_text(const StepMatch& m) {
  std::string text;
  for (std::size_t k = 0; k < m.kernels.size(); ++k) {
    const auto rows = m.rows.of(k);
    const bool replaced = m.kernels[k].quality == MatchQuality::substitute;
    text += replaced ? "s" : rows.empty() ? "-" : "";
    for (const std::uint32_t row : rows) text += std::to_string(row);
    text += ' ';
  }
  return text;
}

TEST(MatchStep, TakesKernelsByLaunchTime) {
  Steps steps({"abc", "de"});
  steps.maker.kernel(45, 2, 999, 0, "launched_before_the_trace");
  steps.maker.activity(ActivityKind::memcpy, "copy", 46, 2, 1000);
  steps.links = link_trace(steps.maker.trace);
  EXPECT_EQ(kernels_of_step(steps.maker.trace, steps.links, 0).size(), 3);
  const auto second = kernels_of_step(steps.maker.trace, steps.links, 1);
  ASSERT_EQ(second.size(), 2);
  EXPECT_EQ(steps.maker.trace.strings.get(steps.maker.trace.activities.name[second[0]]),
            "kernel_d");
}

TEST(MatchStep, PeriodRunsFromTheEndOfTheWorkBefore) {
  const Steps steps({"abc", "de"});
  // a runs 101..106, c 121..126; d 141..146, e 151..156.
  EXPECT_EQ(period_of_step(steps.maker.trace, steps.links, 0), from_us(126));
  EXPECT_EQ(period_of_step(steps.maker.trace, steps.links, 1), from_us(30));
}

TEST(MatchStep, PairsByNameAndOrder) {
  EXPECT_EQ(rows_text(match(Steps({"abca"}), report_of("abca"))), "0 1 2 3 ");
  EXPECT_EQ(rows_text(match(Steps({"abca"}), report_of("bca"))), "- 0 1 2 ");
  EXPECT_EQ(rows_text(match(Steps({"abca"}), report_of("xabyca"))), "1 2 4 5 ");
  EXPECT_EQ(rows_text(match(Steps({"abcdefgh"}), report_of("def"))), "- - - 0 1 2 - - ");
}

TEST(MatchStep, TellsWhatRanInAKernelsPlace) {
  const StepMatch m = match(Steps({"abcd"}), report_of("abxd"));
  EXPECT_EQ(rows_text(m), "0 1 s 3 ");
  EXPECT_EQ(m.kernels[2].substitute, 2U);
  EXPECT_EQ(m.kernel_of_row[2], no_row);
}

TEST(MatchStep, PairsKernelsThatWereLaunchedInAnotherOrder) {
  EXPECT_EQ(rows_text(match(Steps({"abcdefgh"}), report_of("abdcefgh"))), "0 1 3 2 4 5 6 7 ");
  EXPECT_EQ(rows_text(match(Steps({"abcdefgh"}), report_of("hbcdefga"))), "7 1 2 3 4 5 6 0 ");
}

TEST(MatchStep, FindsSeveralIterationsInAReport) {
  const StepMatch m = match(Steps({"abcdefgh"}), report_of("efghabcdefghabcd"));
  EXPECT_EQ(m.iterations, 2);
  EXPECT_EQ(m.rows.rows.size(), 16);
  const StepMatch processes = match(Steps({"abcdefgh"}), report_of("aabbccddeeffgghh", 2));
  EXPECT_EQ(processes.iterations, 2);
}

TEST(MatchStep, FindsNothingInAnotherReport) {
  const StepMatch m = match(Steps({"abc"}), report_of("xyz"));
  EXPECT_EQ(m.iterations, 0);
  EXPECT_EQ(rows_text(m), "- - - ");
}

TEST(MatchStep, PicksTheStepThatFitsBest) {
  const Steps steps({"abcd", "abxd", "abcd"});
  const auto best = [&](const std::string& letters) {
    return match_best_step(steps.maker.trace, steps.links, report_of(letters)).step;
  };
  EXPECT_EQ(best("abxd"), "ProfilerStep#4");
  EXPECT_EQ(best("abcd"), "ProfilerStep#5");  // of equal steps the last
}

TEST(MatchStep, FindsStepsByName) {
  const Steps steps({"ab", "ab"});
  EXPECT_EQ(find_step(steps.maker.trace, steps.links, "ProfilerStep#4"), 1);
  EXPECT_EQ(find_step(steps.maker.trace, steps.links, "3"), 0);
  try {
    find_step(steps.maker.trace, steps.links, "7");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "made.json: found no step \"7\", expected one of: ProfilerStep#3, ProfilerStep#4");
  }
}

TEST(MatchStep, SumsOverMatchedKernels) {
  const Steps steps({"abcd", "abcd"});
  const CounterReport report = report_of("abc");
  const StepMatch m = match(steps, report, 1);
  const MatchSummary s = summarize(steps.maker.trace, steps.links, report, m);
  EXPECT_EQ(s.matched, 3);
  EXPECT_EQ(s.rows_matched, 3);
  EXPECT_DOUBLE_EQ(s.kernel_us, 20);
  EXPECT_DOUBLE_EQ(s.matched_us, 15);
  EXPECT_DOUBLE_EQ(s.step_us, 50);
  EXPECT_DOUBLE_EQ(s.kernel_time.smsp_active, 0.5);
  EXPECT_DOUBLE_EQ(s.kernel_time.smsp_issue, 0.1);
  EXPECT_DOUBLE_EQ(s.step.smsp_active, 0.5 * 15 / 50);
  EXPECT_TRUE(std::isnan(s.kernel_time.tc_active));
  EXPECT_DOUBLE_EQ(s.profiled_clock_ghz, 3000.0 / (4 * 132 * 15e3));
  const MatchSummary longer = summarize(steps.maker.trace, steps.links, report, m, 100.0);
  EXPECT_DOUBLE_EQ(longer.step.smsp_active, 0.5 * 15 / 100);
}

TEST(MatchStep, AveragesOverIterations) {
  const CounterReport report = report_of("abcabc");
  const CounterValues mean = mean_counters(report, std::vector<std::uint32_t>{1, 4});
  EXPECT_DOUBLE_EQ(mean[static_cast<std::size_t>(Counter::smsp_issue_cycles)], 250);
  EXPECT_DOUBLE_EQ(utilization_of(mean).smsp_issue, 0.25);
  EXPECT_TRUE(std::isnan(mean_counters(report, {})[0]));
}

/// Of kernels a, b ...: elapsed cycles 1000 each, active cycles and those of instructions as
/// stated.
CounterReport report_with(
    const std::vector<std::pair<std::string, std::string>>& active_and_issue) {
  std::string text =
      test::csv_row(test::raw_columns(
          {"smsp__cycles_elapsed.sum", "smsp__cycles_active.sum", "smsp__issue_active.sum"})) +
      test::csv_row(test::raw_units({"cycle", "cycle", "cycle"}));
  char letter = 'a';
  for (const auto& [active, issue] : active_and_issue) {
    const std::string name = std::string("kernel_") + letter++;
    text += test::csv_row(test::raw_kernel("0", name, {"1000", active, issue}));
  }
  return test::read_report(text);
}

// a is active in no cycle but issues in 200: the 200 hold. b is active in 1020 of 1000 cycles, as
// passes of the profiler may differ: 1020 elapsed, and nothing is counted. c is in order.
TEST(MatchStep, PutsCyclesInOrder) {
  const Steps steps({"abc"});
  const CounterReport report = report_with({{"0", "200"}, {"1020", "100"}, {"500", "100"}});
  const StepMatch m = match(steps, report);
  const MatchSummary s = summarize(steps.maker.trace, steps.links, report, m);
  EXPECT_EQ(s.contradicting, 1);
  EXPECT_DOUBLE_EQ(s.kernel_time.smsp_active, (200.0 + 1020 + 500) / (1000 + 1020 + 1000));
  EXPECT_DOUBLE_EQ(s.kernel_time.smsp_issue, (200.0 + 100 + 100) / (1000 + 1020 + 1000));
  EXPECT_DOUBLE_EQ(s.sums[static_cast<std::size_t>(Counter::smsp_active_cycles)], 1720);
  const std::vector<std::string_view> labels{"x", "y", "z"};
  const auto groups = utilization_by(steps.maker.trace, report, m, labels);
  ASSERT_EQ(groups.size(), 3);
  EXPECT_DOUBLE_EQ(groups[0].kernel_time.smsp_active, 0.2);
  EXPECT_DOUBLE_EQ(groups[1].kernel_time.smsp_active, 1);
}

// Active cycles of b alone, 100 of 1000; instructions of all three, 300 + 100 + 500 of 3000. That
// more issues than is active says only that two kernels lack a counter.
TEST(MatchStep, DropsWhatOtherKernelsContradict) {
  const Steps steps({"abc"});
  const CounterReport report = report_with({{"n/a", "300"}, {"100", "100"}, {"n/a", "500"}});
  const MatchSummary s = summarize(steps.maker.trace, steps.links, report, match(steps, report));
  EXPECT_EQ(s.contradicting, 0);
  EXPECT_TRUE(std::isnan(s.kernel_time.smsp_active));
  EXPECT_DOUBLE_EQ(s.kernel_time.smsp_issue, 0.3);
  EXPECT_TRUE(std::isnan(s.sums[static_cast<std::size_t>(Counter::smsp_active_cycles)]));
}

TEST(MatchReport, WritesTextTableAndJson) {
  const Steps steps({"abcd"});
  const CounterReport counters = report_of("abx");
  const StepMatch m = match(steps, counters);
  const Attribution names = attribute(steps.maker.trace, steps.links);
  const MatchReport report =
      make_match_report(steps.maker.trace, steps.links, {names.op, names.layer}, counters, m);
  const std::string text = match_summary_text(report);
  EXPECT_NE(text.find("2 of 4 kernels (50.0 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel_d"), std::string::npos);
  EXPECT_NE(text.find("kernel_x"), std::string::npos);
  EXPECT_NE(text.find("counters_of_another_run (1 x)"), std::string::npos);  // kernel_x
  const auto json = match_json(report);
  EXPECT_EQ(json["kernels"]["matched"], 2);
  EXPECT_EQ(json["kernel_time"]["smsp_active_utilization"], 0.5);
  EXPECT_TRUE(json["kernel_time"]["tc_active_utilization"].is_null());
  EXPECT_EQ(json["unmatched_kernels"].size(), 2);
  EXPECT_EQ(json["unmatched_rows"][0]["name"], "kernel_x");
  std::ostringstream table;
  write_match_csv(table, report);
  const std::string csv = table.str();
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(csv.find("\"kernel_b\",\"(no operation)\""), std::string::npos) << csv;
}

}  // namespace
}  // namespace tandem
