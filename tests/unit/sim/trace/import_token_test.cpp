#include <gtest/gtest.h>

#include "sim/trace/json/token.h"

namespace tandem {
namespace {

ExactTime time_of(std::string_view token) {
  ExactTime time;
  EXPECT_EQ(parse_us(token, time), NumberError::none) << token;
  return time;
}

void expect_time(std::string_view token, std::int64_t us, std::int64_t ps) {
  const ExactTime time = time_of(token);
  EXPECT_EQ(time.whole_us, us) << token;
  EXPECT_EQ(time.ps, ps) << token;
}

NumberError error_of(std::string_view token) {
  ExactTime time;
  return parse_us(token, time);
}

TEST(ParseUs, IsExact) {
  expect_time("4361851650648.622", 4361851650648, 622'000);
  expect_time("1712867402348700", 1712867402348700, 0);
  expect_time("0", 0, 0);
  expect_time("-0.0", 0, 0);
  expect_time("1.312", 1, 312'000);
  expect_time("0.000001", 0, 1);
  expect_time("10.5", 10, 500'000);
}

TEST(ParseUs, RoundsBelowThePicosecond) {
  expect_time("409942.71600000001", 409942, 716'000);
  expect_time("6.0759999999999996", 6, 76'000);
  expect_time("0.0000004", 0, 0);
  expect_time("0.0000005", 0, 1);
  expect_time("1.9999996", 2, 0);
}

TEST(ParseUs, AcceptsQuotesAndExponents) {
  expect_time("\"12.25\"", 12, 250'000);
  expect_time("1e3", 1000, 0);
  expect_time("1.25E+2", 125, 0);
  expect_time("1.23456e2", 123, 456'000);
  expect_time("15e-1", 1, 500'000);
  expect_time("5e-6", 0, 5);
  expect_time("1.712867402348700e15", 1712867402348700, 0);
}

TEST(ParseUs, SaysWhyATokenIsNoTime) {
  for (const char* token : {"", "\"\"", "NaN", "Infinity", "-", ".", "1.", ".5", "1.2.3", "12abc",
                            "1e", "1e99999", "e5", "--1", "+1", "null", "[1]", "0x10", " 1"}) {
    EXPECT_EQ(error_of(token), NumberError::not_a_number) << token;
  }
  EXPECT_EQ(error_of("-1"), NumberError::negative);
  EXPECT_EQ(error_of("-0.000001"), NumberError::negative);
  EXPECT_EQ(error_of("-1e3"), NumberError::negative);
  EXPECT_EQ(error_of("99999999999999999999"), NumberError::out_of_range);
  EXPECT_EQ(error_of("1e30"), NumberError::out_of_range);
}

TEST(ParseInteger, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("\"25738\""), 25738);
  EXPECT_EQ(parse_integer("7.000"), 7);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* token :
       {"", "1.5", "7.", "9223372036854775808", "1e3", "NaN", "true", "\"\"", "x"}) {
    EXPECT_EQ(parse_integer(token), std::nullopt) << token;
  }
}

TEST(ParseTriple, TakesThreeNumbersInAnArray) {
  std::array<std::int64_t, 3> triple{};
  EXPECT_TRUE(parse_triple("[128, 1, 1]", triple));
  EXPECT_EQ(triple, (std::array<std::int64_t, 3>{128, 1, 1}));
  EXPECT_TRUE(parse_triple("[\n  1,\n  2,\n  -3\n]", triple));
  EXPECT_EQ(triple, (std::array<std::int64_t, 3>{1, 2, -3}));
  for (const char* token : {"", "[]", "[1,2]", "[1,2,3,4]", "[1,2,3", "1,2,3", "[a,b,c]",
                            "[1,2,3]x", "[1,2,NaN]", "[99999999999999999999,1,1]"}) {
    EXPECT_FALSE(parse_triple(token, triple)) << token;
  }
}

TEST(Unescape, ResolvesEscapes) {
  std::string scratch;
  EXPECT_EQ(unescape(R"("plain")", scratch), "plain");
  EXPECT_EQ(unescape(R"("a\"b\\c\/d\n\t")", scratch), "a\"b\\c/d\n\t");
  EXPECT_EQ(unescape(R"("\u0041\u00e9\u20ac")", scratch), "A\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(unescape(R"("\ud83d\ude00")", scratch), "\xf0\x9f\x98\x80");
  EXPECT_EQ(unescape(R"("")", scratch), "");
}

TEST(Unescape, RefusesMalformedEscapes) {
  std::string scratch;
  for (const char* token : {R"("\x41")", R"("\u12")", R"("\u12g4")", R"("\ud83d")", R"("\ud83dx")",
                            R"("\ud83d\u0041")", R"("\ude00")", R"("a\")"}) {
    EXPECT_EQ(unescape(token, scratch), std::nullopt) << token;
  }
}

}  // namespace
}  // namespace tandem
