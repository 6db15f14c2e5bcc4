#include "models/kernel/classify/search_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

TEST(SearchText, FindsPartsOfAnyLength) {
  const SearchText text("sm90_xmma_gemm");
  for (const char* part : {"", "s", "m", "sm", "mm", "90_", "xmma", "gemm", "sm90_xmma_gemm"}) {
    EXPECT_TRUE(text.has(part)) << part;
  }
}

TEST(SearchText, PairsThatOccurApartAreNoMatch) {
  const SearchText text("gemm_fp16");
  EXPECT_FALSE(text.has("ge16"));  // both of its outer pairs occur
  EXPECT_FALSE(text.has("gemm_fp16_"));
  EXPECT_FALSE(text.has("z"));
  EXPECT_FALSE(SearchText("").has("g"));
  EXPECT_TRUE(SearchText("").has(""));
}

TEST(SearchText, AgreesWithFindOnAllPairsOfBytes) {
  std::string all;
  for (int c = 255; c >= 0; --c) all += static_cast<char>(c);
  const SearchText text(all);
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string pair{static_cast<char>(a), static_cast<char>(b)};
      ASSERT_EQ(text.has(pair), all.find(pair) != std::string::npos) << a << ' ' << b;
    }
  }
}

}  // namespace
}  // namespace tandem
