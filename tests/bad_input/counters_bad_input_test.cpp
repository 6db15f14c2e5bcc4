#include <gtest/gtest.h>

#include "sim/counters/counted_gpu.h"
#include "tests/counters_files.h"

namespace tandem {
namespace {

using test::csv_row;
using test::raw_columns;
using test::raw_kernel;
using test::raw_page;
using test::raw_units;
using test::report_error;

std::string with_value(const std::string& value, const std::string& unit = "cycle",
                       const std::string& metric = "smsp__cycles_elapsed.sum") {
  return report_error(raw_page(metric, unit, {"12.5", value}));
}

TEST(CountersBadInput, FileThatIsNotThere) {
  EXPECT_THROW(read_counter_report("no/such/report.csv"), InputError);
  EXPECT_THROW(read_counter_report("."), InputError);
}

TEST(CountersBadInput, FileWithoutATable) {
  EXPECT_TRUE(report_error("").starts_with("1: found an empty file, expected the table of 'ncu"));
  EXPECT_TRUE(report_error("\n\n").starts_with("3: found an empty file"));
  EXPECT_TRUE(report_error("{\"traceEvents\": []}").find("begins with \"{\"traceEvents\"") !=
              std::string::npos);
  EXPECT_TRUE(report_error("a,b\n1,2\n").find("no table") != std::string::npos);
}

TEST(CountersBadInput, ProfilerThatSaysWhyThereIsNone) {
  EXPECT_TRUE(report_error("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n")
                  .find("ERR_NVGPUCTRPERM") != std::string::npos);
  EXPECT_TRUE(report_error("==PROF== Connected\n==WARNING== No kernels were profiled.\n")
                  .find("No kernels were profiled") != std::string::npos);
}

TEST(CountersBadInput, TableWithoutKernels) {
  const std::string header = csv_row(raw_columns({"smsp__cycles_elapsed.sum"}));
  EXPECT_EQ(report_error(header), "2: found the end of the file, expected the row of units");
  EXPECT_EQ(report_error(header + csv_row(raw_units({"cycle"}))),
            "3: found no kernel, expected at least one profiled kernel");
}

TEST(CountersBadInput, TableWithoutUnits) {
  EXPECT_EQ(report_error(csv_row(raw_columns({"smsp__cycles_elapsed.sum"})) +
                         csv_row(raw_kernel("0", "f", {"1"}))),
            "2: found a kernel, expected the row of units that --page raw writes below the header");
}

TEST(CountersBadInput, TableWithoutKnownMetrics) {
  EXPECT_EQ(report_error(raw_page("sm__unknown.sum", "", {"1"})),
            "2: found no known metric, expected metrics such as smsp__cycles_elapsed.sum");
  EXPECT_TRUE(report_error(csv_row({"ID", "Kernel Name", "Metric Name"}))
                  .starts_with("1: found no"
                               " column"));
}

TEST(CountersBadInput, RowsOfAnotherLength) {
  const std::string header = csv_row(raw_columns({"smsp__cycles_elapsed.sum"}));
  const std::string units = csv_row(raw_units({"cycle"}));
  EXPECT_EQ(report_error(header + units + csv_row(raw_kernel("0", "f", {"1", "2"}))),
            "3: found 13 fields, expected 12 as in the header");
  EXPECT_EQ(report_error(header + csv_row({"", ""})),
            "2: found 2 fields, expected 12 as in the header");
  EXPECT_EQ(report_error(header + units + "\"0\",\"42\n"),
            "3: found the end of the file in a quoted field, expected a closing quote");
}

TEST(CountersBadInput, AbsurdNumbers) {
  EXPECT_EQ(with_value("12x"),
            "5: found \"12x\" for smsp__cycles_elapsed.sum, expected a number such as 1,234.5 (as "
            "before in the file)");
  EXPECT_TRUE(with_value("27.595.520").starts_with("5: found \"27.595.520\""));
  EXPECT_TRUE(with_value("-1").find("expected a value from 0 to 1e18") != std::string::npos);
  EXPECT_TRUE(with_value("1e30").find("expected a value from 0 to 1e18") != std::string::npos);
  EXPECT_TRUE(with_value("99999999999999999999999").find("from 0 to 1e18") != std::string::npos);
  EXPECT_TRUE(with_value("1", "parsec", "gpu__time_duration.sum").find("the unit \"parsec\"") !=
              std::string::npos);
}

TEST(CountersBadInput, ImpossibleLaunches) {
  for (const char* block : {"(0, 1, 1)", "(256, 1)", "256", "(a, b, c)", "(1, 1, 1, 1)",
                            "(99999999999, 1, 1)", "(-1, 1, 1)"}) {
    auto kernel = raw_kernel("0", "f", {"1"});
    kernel[7] = block;
    EXPECT_TRUE(report_error(csv_row(raw_columns({"smsp__cycles_elapsed.sum"})) +
                             csv_row(raw_units({"cycle"})) + csv_row(kernel))
                    .starts_with("3: found \"" + std::string(block)))
        << block;
  }
  EXPECT_EQ(report_error(csv_row(raw_columns({"smsp__cycles_elapsed.sum"})) +
                         csv_row(raw_units({"cycle"})) + csv_row(raw_kernel("0", "", {"1"}))),
            "3: found an empty kernel name, expected a kernel name");
}

TEST(CountersBadInput, TruncatedWhereCompressed) {
  const std::string page = raw_page("smsp__cycles_elapsed.sum", "cycle", {"1", "2"});
  for (const std::string& whole : {test::gzip(page), test::zstd(page)}) {
    EXPECT_TRUE(report_error(whole.substr(0, whole.size() / 2)).find("truncated") !=
                std::string::npos);
  }
}

TEST(CountersBadInput, LineWithoutEnd) {
  EXPECT_EQ(report_error(std::string(std::size_t{17} << 20, 'x')),
            "1: found a line of more than 16 MB, expected Nsight Compute's CSV");
}

/// A kernel of 1000 ns and 4 x 132 x 1500 cycles of sub-partitions: 1.5 GHz.
CounterReport traffic(const std::string& dram_read, const std::string& l2, const std::string& l1,
                      const std::string& time = "1000") {
  return test::read_report(
      csv_row(raw_columns({"gpu__time_duration.sum", "smsp__cycles_elapsed.sum",
                           "dram__sectors_read.sum", "lts__t_sectors.sum", "l1tex__t_sectors.sum",
                           "launch__sm_count"})) +
      csv_row(raw_units({"ns", "cycle", "sector", "sector", "sector", "SM"})) +
      csv_row(raw_kernel("0", "f", {time, "792000", dram_read, l2, l1, "132"})));
}

constexpr CountedGpu counted_gpu_here{.sm_count = 132,
                                      .capability = 90,
                                      .dram_gbps = 4800,
                                      .l2_gbps = 10'000,
                                      .slowest_clock_ghz = 0.5};

// In 1000 ns DRAM moves 4,800,000 B, 150,000 sectors, and 1.25 times as many are believed; L2
// 312,500 and twice as many; L1 of a sub-partition 4 a cycle, 3,168,000, and 1.25 times as many.
TEST(CountersBadInput, TrafficThatNoGpuMoves) {
  struct Case {
    CounterReport report;
    std::int64_t impossible;
  };
  Case cases[] = {
      {traffic("187000", "624000", "3950000"), 0},
      {traffic("188000", "624000", "3950000"), 1},
      {traffic("187000", "626000", "3970000"), 2},
      {traffic("1,000,000,000,000", "100,000,000,000,000", "5"), 2},
      // At the slowest clock the kernel lasted no longer than 3000 ns.
      {traffic("562000", "1874000", "5", "n/a"), 0},
      {traffic("563000", "1876000", "5", "n/a"), 2},
  };
  for (Case& c : cases) {
    hold_against(counted_gpu_here, c.report);
    EXPECT_EQ(c.report.losses.count("impossible_counters"), c.impossible);
    EXPECT_EQ(c.report.losses.count("counters_of_another_gpu"), 0);
  }
}

TEST(CountersBadInput, AReportOfAnotherGpu) {
  CounterReport report = traffic("1", "1", "1");
  EXPECT_EQ(report.capability[0], 90);
  CountedGpu other = counted_gpu_here;
  other.sm_count = 80;
  EXPECT_EQ(rows_of_another_gpu(report, other), 1);
  other = counted_gpu_here;
  other.capability = 70;
  EXPECT_EQ(rows_of_another_gpu(report, other), 1);
  EXPECT_EQ(rows_of_another_gpu(report, CountedGpu{}), 0);  // nothing is known of it
  hold_against(other, report);
  EXPECT_EQ(report.losses.count("counters_of_another_gpu"), 1);
}

// Whatever is in the file, the reader answers with a report or an InputError.
TEST(CountersBadInput, ChangedBytes) {
  const std::string page =
      raw_page("gpu__time_duration.sum", "us", {"1,234.5", "7", "n/a", "65.77"});
  std::uint64_t state = 1;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  constexpr std::string_view bytes = "\",\n.0xn/(\r= \xff";
  for (int i = 0; i < 1500; ++i) {
    std::string text = page;
    for (std::size_t n = 1 + random(4); n > 0; --n) {
      text[random(text.size())] = bytes[random(bytes.size())];
    }
    EXPECT_NO_THROW(report_error(text.substr(0, text.size() - random(40)))) << text;
  }
}

}  // namespace
}  // namespace tandem
