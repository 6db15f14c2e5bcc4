#include "sim/core/text/csv_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "tests/import_files.h"

namespace tandem {
namespace {

std::vector<CsvRow> rows_of(std::string_view text) {
  return read_csv(test::TempFile(text, "rows.csv").path());
}

std::string csv_error(std::string_view text, std::string_view column) {
  try {
    for (const CsvRow& row : rows_of(text)) row.number(column);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(CsvRows, ValuesByColumnAndInOrder) {
  // Lines may end as those of Windows, be empty, and the last one may lack its end.
  const std::vector<CsvRow> rows = rows_of("point,us,\r\na,1.5,\r\n\n,2e3,x");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].text("point"), "a");
  EXPECT_EQ(rows[0].number("us"), 1.5);
  EXPECT_EQ(rows[0].text(""), "");
  EXPECT_EQ(rows[1].number("us"), 2000);
  EXPECT_EQ(rows[1].place(), "line 4");
  ASSERT_EQ(rows[1].values().size(), 3u);
  EXPECT_EQ(rows[1].values()[0], "");
  EXPECT_EQ(rows[1].values()[2], "x");
}

TEST(CsvRows, RowsOutliveTheListThatHeldThem) {
  const CsvRow row = rows_of("a,b\n1,2\n").front();
  EXPECT_EQ(row.number("b"), 2);
}

TEST(CsvRows, ErrorsNameTheLineAndTheColumn) {
  const auto says = [](const std::string& error, std::string_view text) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  says(csv_error("a,b\n1,2\n3,four\n", "b"), "line 3, b: found \"four\", expected a number");
  says(csv_error("a,b\n1,2\n3,inf\n", "b"), "line 3, b: found \"inf\"");
  says(csv_error("a,b\n1\n", "a"), "line 2: found 1 values, expected 2");
  says(csv_error("a,b\n1,2\n", "c"), "line 1: found no column \"c\"");
  says(csv_error("", "a"), "no content");
}

TEST(CsvRows, AFiniteNumberIsAllOfTheText) {
  EXPECT_EQ(finite_number("-0.5"), -0.5);
  for (const char* text : {"", "1 ", " 1", "1x", "nan", "inf", "1e999"}) {
    EXPECT_EQ(finite_number(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tandem
