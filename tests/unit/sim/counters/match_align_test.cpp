#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "sim/counters/align.h"

namespace tandem {
namespace {

/// Equal letters score 3, others -3.
struct Letters {
  std::string_view rows, columns;
  float operator()(std::size_t r, std::size_t c) const { return rows[r] == columns[c] ? 3 : -3; }
};

Alignment align_letters(std::string_view rows, std::string_view columns, double restart = 100) {
  return align(rows.size(), columns.size(), Letters{rows, columns}, {0.5, restart});
}

using Pairs = std::vector<AlignedPair>;

TEST(MatchAlign, PairsEqualSequences) {
  const Alignment a = align_letters("abc", "abc");
  EXPECT_EQ(a.pairs, (Pairs{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_DOUBLE_EQ(a.score, 9);
}

TEST(MatchAlign, PassesOverWhatOneSideLacks) {
  const Alignment a = align_letters("abxcd", "abcyd");
  EXPECT_EQ(a.pairs, (Pairs{{0, 0}, {1, 1}, {3, 2}, {4, 4}}));
  EXPECT_DOUBLE_EQ(a.score, 4 * 3 - 2 * 0.5);
}

TEST(MatchAlign, EndsCostNothing) {
  EXPECT_DOUBLE_EQ(align_letters("cd", "abcdef").score, 6);
  EXPECT_EQ(align_letters("xxcdyy", "abcdef").pairs, (Pairs{{2, 2}, {3, 3}}));
  EXPECT_EQ(align_letters("defabc", "abcdef").pairs.size(), 3);
}

TEST(MatchAlign, StartsAgainIfThatIsWorthIt) {
  EXPECT_EQ(align_letters("abcabcabc", "abc", 5).pairs.size(), 9);
  EXPECT_DOUBLE_EQ(align_letters("abcabcabc", "abc", 5).score, 27 - 2 * 5);
  EXPECT_EQ(align_letters("abcabcabc", "abc", 10).pairs.size(), 3);
  EXPECT_EQ(align_letters("defabc", "abcdef", 5).pairs,
            (Pairs{{0, 3}, {1, 4}, {2, 5}, {3, 0}, {4, 1}, {5, 2}}));
}

TEST(MatchAlign, FindsNothingWhereNothingFits) {
  EXPECT_TRUE(align_letters("abc", "xyz").pairs.empty());
  EXPECT_TRUE(align_letters("", "xyz").pairs.empty());
  EXPECT_TRUE(align_letters("abc", "").pairs.empty());
}

}  // namespace
}  // namespace tandem
