#include "sim/core/column.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

TEST(Column, StartsEmpty) {
  const Column<int> column;
  EXPECT_TRUE(column.empty());
  EXPECT_EQ(column.size(), 0u);
  EXPECT_EQ(column.bytes(), 0u);
  EXPECT_EQ(column.begin(), column.end());
}

TEST(Column, KeepsWhatIsPushedThroughGrowth) {
  Column<std::int64_t> column;
  for (std::int64_t i = 0; i < 100'000; ++i) column.push_back(i * 3);
  ASSERT_EQ(column.size(), 100'000u);
  for (std::size_t i = 0; i < column.size(); ++i) ASSERT_EQ(column[i], std::int64_t(i) * 3);
  EXPECT_EQ(column.bytes(), 800'000u);
}

TEST(Column, AppendsSpans) {
  Column<int> column;
  const std::vector<int> values{1, 2, 3};
  column.append(values);
  column.append({});
  column.append(values);
  EXPECT_EQ(std::vector<int>(column.begin(), column.end()), (std::vector<int>{1, 2, 3, 1, 2, 3}));
}

TEST(Column, CopiesAreIndependentAndMovesLeaveAnEmptyOne) {
  Column<int> a;
  a.push_back(1);
  Column<int> b = a;
  b[0] = 2;
  EXPECT_EQ(a[0], 1);
  const Column<int> c = std::move(b);
  EXPECT_EQ(c[0], 2);
  EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move): this is what is tested
  a = c;
  EXPECT_EQ(a[0], 2);
}

TEST(Column, ReserveKeepsSizeAndClearKeepsNothing) {
  Column<char> column;
  column.reserve(10);
  EXPECT_TRUE(column.empty());
  column.push_back('x');
  column.clear();
  EXPECT_TRUE(column.empty());
}

}  // namespace
}  // namespace tandem
