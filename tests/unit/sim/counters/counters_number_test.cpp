#include <gtest/gtest.h>

#include "sim/counters/number_text.h"

namespace tandem {
namespace {

constexpr auto point = NumberFormat::decimal_point;
constexpr auto comma = NumberFormat::decimal_comma;

TEST(CountersNumber, ReadsThousandsAndFractions) {
  EXPECT_EQ(parse_number("0", point), 0);
  EXPECT_EQ(parse_number("27,595,520", point), 27595520);
  EXPECT_EQ(parse_number("12,553.50", point), 12553.5);
  EXPECT_EQ(parse_number("27.595.520", comma), 27595520);
  EXPECT_EQ(parse_number("65,77", comma), 65.77);
  EXPECT_EQ(parse_number("12.553,50", comma), 12553.5);
  EXPECT_EQ(parse_number("16849120", point), 16849120);
  EXPECT_EQ(parse_number("1.5e+06", point), 1.5e6);
  EXPECT_EQ(parse_number("-3", point), -3);
}

TEST(CountersNumber, ReadsSeparatorsOfOtherLocales) {
  EXPECT_EQ(parse_number("27 595 520", point), 27595520);
  EXPECT_EQ(parse_number("27\xc2\xa0"
                         "595,5",
                         comma),
            27595.5);
  EXPECT_EQ(parse_number("27'595.5", point), 27595.5);
}

TEST(CountersNumber, RejectsWhatIsNoNumberInTheFormat) {
  for (const char* text : {"", "abc", "1,23", "1234,567", ",123", "0,123", "1,234,56", "1.2.3",
                           "1.234.567", "12x", "1 2", "--1", "1e999", "0x10"}) {
    EXPECT_FALSE(parse_number(text, point).has_value()) << text;
  }
}

TEST(CountersNumber, TellsTheFormatWhereOnlyOneFits) {
  EXPECT_EQ(format_of("27,595,520"), point);
  EXPECT_EQ(format_of("65.77"), point);
  EXPECT_EQ(format_of("0.123"), point);
  EXPECT_EQ(format_of("27.595.520"), comma);
  EXPECT_EQ(format_of("65,77"), comma);
  EXPECT_EQ(format_of("1,234"), std::nullopt);
  EXPECT_EQ(format_of("1.234"), std::nullopt);
  EXPECT_EQ(format_of("128"), std::nullopt);
  EXPECT_EQ(format_of("n/a"), std::nullopt);
}

TEST(CountersNumber, ScalesUnits) {
  EXPECT_EQ(unit_factor("ns", Quantity::time), 1);
  EXPECT_EQ(unit_factor("usecond", Quantity::time), 1e3);
  EXPECT_EQ(unit_factor("ms", Quantity::time), 1e6);
  EXPECT_EQ(unit_factor("second", Quantity::time), 1e9);
  EXPECT_EQ(unit_factor("byte", Quantity::bytes), 1);
  EXPECT_EQ(unit_factor("Kbyte", Quantity::bytes), 1e3);
  EXPECT_EQ(unit_factor("Mbyte", Quantity::bytes), 1e6);
  EXPECT_EQ(unit_factor("Kbyte/block", Quantity::bytes), 1e3);
  EXPECT_EQ(unit_factor("cycle", Quantity::count), 1);
  EXPECT_EQ(unit_factor("Kinst", Quantity::count), 1e3);
  EXPECT_EQ(unit_factor("register/thread", Quantity::count), 1);
  EXPECT_EQ(unit_factor("", Quantity::count), 1);
  EXPECT_EQ(unit_factor("parsec", Quantity::time), std::nullopt);
  EXPECT_EQ(unit_factor("ns", Quantity::bytes), std::nullopt);
}

}  // namespace
}  // namespace tandem
