#include <gtest/gtest.h>

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
