// The H200 traces and the Nsight Compute reports of the same workloads: they come from two runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "sim/counters/match.h"
#include "sim/counters/utilization.h"
#include "sim/trace/import.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string match_captures = source_path("validation/captures/h200_2026-11-20_fit");

struct MatchedPair {
  explicit MatchedPair(const std::string& name, const std::string& counters = "")
      : trace(import_trace(match_captures + "/traces/" + name + ".json.zst")),
        links(link_trace(trace)),
        report(read_counter_report(match_captures + "/counters/" +
                                   (counters.empty() ? name : counters) + ".csv.zst")) {}
  StepMatch match(const CounterReport& rows) const { return match_step(trace, links, rows, 0); }
  Trace trace;
  Links links;
  CounterReport report;
};

/// The report with these rows only, in this order.
CounterReport select(const CounterReport& report, const std::vector<std::size_t>& rows) {
  CounterReport out;
  out.path = report.path;
  out.strings = report.strings;
  for (const std::size_t row : rows) {
    out.kernel.push_back(report.kernel[row]);
    out.id.push_back(static_cast<std::int64_t>(row));
    out.process.push_back(report.process[row]);
    out.device.push_back(report.device[row]);
    out.grid.push_back(report.grid[row]);
    out.block.push_back(report.block[row]);
    for (std::size_t c = 0; c < counter_count; ++c) {
      out.values[c].push_back(report.values[c][row]);
    }
  }
  return out;
}

std::vector<std::size_t> range(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

/// Rows that all agree with their kernel, and rows that stand at the place they came from.
struct Count {
  std::size_t exact = 0;
  std::size_t in_place = 0;
};
Count count(const StepMatch& m, const CounterReport& rows) {
  Count n;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::uint32_t kernel = m.kernel_of_row[row];
    if (kernel == no_row) continue;
    n.exact += m.kernels[kernel].quality == MatchQuality::exact;
    n.in_place += kernel == static_cast<std::size_t>(rows.id[row]);
  }
  return n;
}

/// Reports with a trace of the same name. In each, row i is kernel i of the step.
std::vector<std::string> pair_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(match_captures + "/counters")) {
    const std::string name = file.path().stem().stem().string();
    if (std::filesystem::exists(match_captures + "/traces/" + name + ".json.zst"))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class MatchMeasured : public testing::TestWithParam<std::string> {};
std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(H200, MatchMeasured, testing::ValuesIn(pair_names()), test_name);

TEST_P(MatchMeasured, AllKernelsMatch) {
  const MatchedPair pair(GetParam());
  const StepMatch m = match_best_step(pair.trace, pair.links, pair.report);
  const MatchSummary s = summarize(pair.trace, pair.links, pair.report, m);
  EXPECT_EQ(s.exact, s.kernels);
  EXPECT_EQ(s.rows_matched, s.rows);
  EXPECT_EQ(s.iterations, 1);
  EXPECT_EQ(count(m, select(pair.report, range(0, pair.report.size()))).in_place,
            pair.report.size());
  EXPECT_GT(s.profiled_clock_ghz, 1.8);  // the device ran at up to 1.98
  EXPECT_LT(s.profiled_clock_ghz, 1.99);
}

TEST_P(MatchMeasured, ThirtyPercentOfTheRowsMissing) {
  const MatchedPair pair(GetParam());
  std::mt19937 random(1);
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < pair.report.size(); ++row) {
    if (random() % 10 >= 3) kept.push_back(row);
  }
  const CounterReport rows = select(pair.report, kept);
  const Count n = count(pair.match(rows), rows);
  EXPECT_EQ(n.exact, rows.size());
  // DLRM launches equal kernels for its 26 tables: which of them is missing nothing can tell.
  EXPECT_GE(n.in_place, 0.7 * static_cast<double>(rows.size()));
}

TEST_P(MatchMeasured, OnlyAPartOfTheStepProfiled) {
  const MatchedPair pair(GetParam());
  const std::size_t n = pair.report.size();
  const CounterReport rows = select(pair.report, range(n / 10, n * 4 / 10));
  EXPECT_EQ(count(pair.match(rows), rows).in_place, rows.size());
}

TEST_P(MatchMeasured, SeveralIterationsOfAPart) {
  const MatchedPair pair(GetParam());
  const std::size_t n = pair.report.size();
  std::vector<std::size_t> twice = range(n / 10, n * 4 / 10);
  const std::size_t once = twice.size();
  for (std::size_t i = 0; i < once; ++i) twice.push_back(twice[i]);
  const CounterReport rows = select(pair.report, twice);
  const StepMatch m = pair.match(rows);
  EXPECT_EQ(m.iterations, 2);
  EXPECT_EQ(count(m, rows).in_place, rows.size());
}

TEST_P(MatchMeasured, ReportThatBeginsWithinAnIteration) {
  const MatchedPair pair(GetParam());
  const std::size_t n = pair.report.size();
  std::vector<std::size_t> turned = range(n / 2, n);
  for (const std::size_t row : range(0, n)) turned.push_back(row);
  const CounterReport rows = select(pair.report, turned);
  EXPECT_EQ(count(pair.match(rows), rows).in_place, rows.size());
}

// Utilizations over kernel time, as summed from the reports by hand (reference recipe).
TEST(MatchMeasuredUtilization, ResNet50Training) {
  const MatchedPair pair("resnet50-train-amp-eager-b32");
  const StepMatch m = match_best_step(pair.trace, pair.links, pair.report);
  const MatchSummary s = summarize(pair.trace, pair.links, pair.report, m);
  EXPECT_NEAR(s.kernel_time.smsp_active, 0.725, 0.0005);
  EXPECT_NEAR(s.kernel_time.smsp_issue, 0.262, 0.0005);
  EXPECT_NEAR(s.kernel_time.tc_active, 0.0706, 0.00005);
  EXPECT_NEAR(s.kernel_time.tc_issue, 0.0047, 0.00005);
  EXPECT_LT(s.step.smsp_active, s.kernel_time.smsp_active);
}

// The report of another batch: most kernels are the same, hardly any launch is.
TEST(MatchMeasuredOther, BatchOfLenet) {
  const MatchedPair pair("lenet5-infer-fp32-eager-b8192", "lenet5-infer-fp32-eager-b1024");
  const MatchSummary s = summarize(pair.trace, pair.links, pair.report, pair.match(pair.report));
  EXPECT_EQ(s.matched, 10);
  EXPECT_EQ(s.exact, 0);
  EXPECT_GT(s.matched_us, 0.95 * s.kernel_us);
}

// The optimizer runs outside the graph: the report holds more than the step.
TEST(MatchMeasuredOther, CudaGraphOfTheSameKernels) {
  const MatchedPair pair("resnet50-train-amp-cudagraph-b32", "resnet50-train-amp-eager-b32");
  const MatchSummary s = summarize(pair.trace, pair.links, pair.report, pair.match(pair.report));
  EXPECT_EQ(s.exact, s.kernels);
  EXPECT_EQ(s.rows - s.rows_matched, 23);
}

TEST(MatchMeasuredOther, AnotherModel) {
  const MatchedPair pair("dlrm-train-fp32-eager-b8192", "resnet50-infer-fp32-eager-b128");
  const MatchSummary s = summarize(pair.trace, pair.links, pair.report, pair.match(pair.report));
  EXPECT_LT(s.rows_matched, s.rows / 4);
}

}  // namespace
}  // namespace tandem
