#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/counters_files.h"

namespace tandem {
namespace {

using test::csv_row;
using test::raw_columns;
using test::raw_kernel;
using test::raw_page;
using test::raw_units;
using test::read_report;

using Size = std::array<std::uint32_t, 3>;

TEST(CounterTable, EveryMetricNameStandsForOneCounter) {
  std::set<std::string_view> names;
  std::set<Counter> counters;
  for (const MetricName& m : metric_names()) {
    EXPECT_TRUE(names.insert(m.metric).second) << m.metric;
    counters.insert(m.counter);
  }
  EXPECT_EQ(counters.size(), counter_count);
}

TEST(CounterReport, ReadsTheRawPage) {
  const CounterReport report =
      read_report("==WARNING== Note\n==PROF== Connected to process 42\nloss 0.5, \"quoted\"\n" +
                  csv_row(raw_columns({"other__metric.sum", "smsp__cycles_elapsed.sum",
                                       "gpu__time_duration.sum", "launch__registers_per_thread"})) +
                  csv_row(raw_units({"inst", "cycle", "ns", "register/thread"})) +
                  csv_row(raw_kernel("0", "void f<\"\"x\"\", 2>(int, T1 *)",
                                     {"1", "16,849,120", "15,712", "18"})) +
                  "==PROF== Disconnected from process 42\n" +
                  csv_row(raw_kernel("1", "g", {"n/a", "16", "n/a", ""})));
  EXPECT_EQ(report.layout, "raw");
  ASSERT_EQ(report.size(), 2);
  EXPECT_EQ(report.strings.get(report.kernel[0]), "void f<\"x\", 2>(int, T1 *)");
  EXPECT_EQ(report.id[1], 1);
  EXPECT_EQ(report.process[0], 42);
  EXPECT_EQ(report.device[0], 0);
  EXPECT_EQ(report.block[0].size, (Size{256, 1, 1}));
  EXPECT_EQ(report.grid[0].size, (Size{5, 20, 1}));
  EXPECT_EQ(report.value(Counter::smsp_elapsed_cycles, 0), 16849120);
  EXPECT_EQ(report.value(Counter::duration_ns, 0), 15712);
  EXPECT_EQ(report.value(Counter::registers_per_thread, 0), 18);
  EXPECT_TRUE(std::isnan(report.value(Counter::duration_ns, 1)));
  EXPECT_TRUE(std::isnan(report.value(Counter::tc_active_cycles, 0)));
  EXPECT_EQ(report.losses.count("counter_absent"), 1);    // the duration of the second kernel
  EXPECT_EQ(report.losses.count("counter_missing"), 13);  // of 15 that describe no launch
}

TEST(CounterReport, ReadsTheDetailsPage) {
  const auto row = [](const std::string& id, const std::string& name, const std::string& metric,
                      const std::string& unit, const std::string& value) {
    return csv_row({id,           "42", "python", "host",
                    name,         "1",  "7",      "(128, 1, 1)",
                    "(10, 1, 1)", "0",  "8.0",    "Some Section",
                    metric,       unit, value,    "",
                    "",           "",   "",       ""});
  };
  const CounterReport report =
      read_report(csv_row({"ID",
                           "Process ID",
                           "Process Name",
                           "Host Name",
                           "Kernel Name",
                           "Context",
                           "Stream",
                           "Block Size",
                           "Grid Size",
                           "Device",
                           "CC",
                           "Section Name",
                           "Metric Name",
                           "Metric Unit",
                           "Metric Value",
                           "Rule Name",
                           "Rule Type",
                           "Rule Description",
                           "Estimated Speedup Type",
                           "Estimated Speedup"}) +
                  row("0", "f", "Duration", "us", "41.28") +
                  row("0", "f", "dram__bytes_read.sum", "Kbyte", "3.2") +
                  row("0", "f", "Static Shared Memory Per Block", "byte/block", "272") +
                  row("0", "f", "", "", "") +  // a rule
                  row("1", "f", "Duration", "ms", "2.00") + row("1", "f", "# SMs", "SM", "108") +
                  row("1", "f", "Elapsed Cycles", "cycle", "1,000") +
                  row("1", "f", "smsp__cycles_active.avg", "cycle", "500.5"));
  EXPECT_EQ(report.layout, "details");
  ASSERT_EQ(report.size(), 2);
  EXPECT_DOUBLE_EQ(report.value(Counter::duration_ns, 0), 41280);
  EXPECT_DOUBLE_EQ(report.value(Counter::dram_read_sectors, 0), 100);
  EXPECT_EQ(report.value(Counter::shared_static_bytes, 0), 272);
  EXPECT_DOUBLE_EQ(report.value(Counter::duration_ns, 1), 2e6);
  EXPECT_EQ(report.value(Counter::smsp_elapsed_cycles, 1), 1000 * 4 * 108);
  EXPECT_EQ(report.value(Counter::smsp_active_cycles, 1), 500.5 * 4 * 108);
  EXPECT_TRUE(std::isnan(report.value(Counter::smsp_elapsed_cycles, 0)));
  EXPECT_EQ(report.grid[0].size, (Size{10, 1, 1}));
}

TEST(CounterReport, KeepsTheBestSourceOfACounter) {
  const CounterReport report =
      read_report(csv_row(raw_columns({"smsp__cycles_elapsed.avg", "dram__bytes_read.sum",
                                       "smsp__cycles_elapsed.sum", "dram__sectors_read.sum",
                                       "launch__sm_count"})) +
                  csv_row(raw_units({"cycle", "byte", "cycle", "sector", "SM"})) +
                  csv_row(raw_kernel("0", "f", {"1", "64", "5,281", "3", "132"})) +
                  csv_row(raw_kernel("1", "f", {"10", "64", "n/a", "n/a", "132"})));
  EXPECT_EQ(report.value(Counter::smsp_elapsed_cycles, 0), 5281);
  EXPECT_EQ(report.value(Counter::dram_read_sectors, 0), 3);
  EXPECT_EQ(report.value(Counter::smsp_elapsed_cycles, 1), 10 * 4 * 132);
  EXPECT_EQ(report.value(Counter::dram_read_sectors, 1), 2);
}

TEST(CounterReport, ReadsDecimalCommas) {
  const CounterReport report =
      read_report(raw_page("gpu__time_duration.sum", "us", {"1.234", "27.595.520", "65,77"}));
  EXPECT_DOUBLE_EQ(report.value(Counter::duration_ns, 0), 1234e3);  // decided by what follows
  EXPECT_DOUBLE_EQ(report.value(Counter::duration_ns, 2), 65770);
  EXPECT_EQ(report.losses.count("ambiguous_numbers"), 0);
}

TEST(CounterReport, CountsNumbersThatCouldMeanTwoThings) {
  const CounterReport report =
      read_report(raw_page("gpu__time_duration.sum", "us", {"1.234", "5"}));
  EXPECT_DOUBLE_EQ(report.value(Counter::duration_ns, 0), 1234);
  EXPECT_EQ(report.losses.count("ambiguous_numbers"), 1);
}

TEST(CounterReport, ReadsOldVersionsWithoutGridAndBlockColumns) {
  const CounterReport report = read_report(
      csv_row({"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time",
               "Context", "Stream", "launch__grid_dim_x", "launch__grid_dim_y",
               "launch__grid_dim_z", "launch__block_size"}) +
      csv_row({"", "", "", "", "", "", "", "", "", "", "", ""}) +
      csv_row({"0", "1", "p", "h", "f", "2021-Jan-01", "1", "7", "5", "20", "1", "256"}));
  EXPECT_EQ(report.grid[0].size, (Size{5, 20, 1}));
  EXPECT_EQ(report.block[0].total(), 256);
  EXPECT_TRUE(report.block[0].only_total());
  EXPECT_EQ(report.device[0], -1);
}

TEST(CounterReport, IgnoresNvtxColumnsAndUnquotedTablesToo) {
  const CounterReport nvtx = read_report(
      csv_row(raw_columns({"thread Domain:Push/Pop_Range:PL_Type", "smsp__cycles_elapsed.sum"})) +
      csv_row(raw_units({"", "cycle"})) +
      csv_row(raw_kernel("0", "f", {"\"\"layer,\n1\"\":none", "7"})));
  EXPECT_EQ(nvtx.value(Counter::smsp_elapsed_cycles, 0), 7);
  const CounterReport plain = read_report(
      "ID,Kernel Name,smsp__cycles_elapsed.sum\n,,cycle\n3,f,7000\n==PROF== Disconnected\n");
  EXPECT_EQ(plain.id[0], 3);
  EXPECT_EQ(plain.value(Counter::smsp_elapsed_cycles, 0), 7000);
}

TEST(CounterReport, ReadsReportsOneBehindTheOther) {
  const std::string page = raw_page("smsp__cycles_elapsed.sum", "cycle", {"1", "2"});
  const CounterReport report = read_report(page + page);
  ASSERT_EQ(report.size(), 4);
  EXPECT_EQ(report.value(Counter::smsp_elapsed_cycles, 3), 2);
}

TEST(CounterReport, ReadsCompressedFilesAndOtherLineEnds) {
  std::string page = raw_page("smsp__cycles_elapsed.sum", "cycle", {"1", "2"});
  EXPECT_EQ(read_report(test::gzip(page)).size(), 2);
  EXPECT_EQ(read_report(test::zstd(page)).size(), 2);
  std::string windows = "\xef\xbb\xbf";
  for (const char c : page) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read_report(windows).value(Counter::smsp_elapsed_cycles, 1), 2);
}

}  // namespace
}  // namespace tandem
