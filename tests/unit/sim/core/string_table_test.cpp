#include "sim/core/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

TEST(StringTable, GivesEqualTextsOneId) {
  StringTable table;
  const StringId a = table.intern("aten::add");
  const StringId b = table.intern("aten::mul");
  EXPECT_NE(a, b);
  EXPECT_EQ(table.intern("aten::add"), a);
  EXPECT_EQ(table.get(a), "aten::add");
  EXPECT_EQ(table.get(b), "aten::mul");
  EXPECT_EQ(table.size(), 2u);
}

TEST(StringTable, KeepsTheEmptyTextAndBytesOfAnyValue) {
  StringTable table;
  const StringId empty = table.intern("");
  const StringId zero = table.intern(std::string_view("a\0b", 3));
  EXPECT_EQ(table.get(empty), "");
  EXPECT_EQ(table.get(zero), std::string_view("a\0b", 3));
  EXPECT_NE(empty, zero);
}

TEST(StringTable, FindsWithoutInterning) {
  StringTable table;
  EXPECT_FALSE(table.find("x").valid());
  const StringId x = table.intern("x");
  EXPECT_EQ(table.find("x"), x);
  EXPECT_FALSE(table.find("y").valid());
  EXPECT_EQ(table.size(), 1u);
}

TEST(StringTable, AnInvalidIdIsTheEmptyText) {
  const StringTable table;
  EXPECT_EQ(table.get(StringId{}), "");
  EXPECT_EQ(table.get(StringId{std::size_t{5}}), "");
}

TEST(StringTable, SurvivesGrowth) {
  StringTable table;
  const auto text = [](int i) { return "text number " + std::to_string(i); };
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(table.intern(text(i)).index(), static_cast<std::size_t>(i));
  }
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(table.find(text(i)).index(), static_cast<std::size_t>(i));
    ASSERT_EQ(table.get(StringId{static_cast<std::size_t>(i)}), text(i));
  }
}

}  // namespace
}  // namespace tandem
