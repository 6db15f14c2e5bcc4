// Iterations in a sequence of tokens, a letter each; capital letters are copies, which no iteration
// needs.
#include "sim/trace/iterations/repetition.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

TokenSequence sequence(const std::string& letters) {
  TokenSequence out;
  out.essential.resize(256);
  for (const char c : letters) {
    out.token.push_back(static_cast<unsigned char>(c));
    out.essential[static_cast<unsigned char>(c)] = c >= 'a';
  }
  return out;
}

std::string times(std::size_t n, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

/// The iterations as texts, with blanks between; "w " before them: a warm-up; "-": none.
std::string text_of(const std::optional<Repetition>& found, const std::string& letters) {
  if (!found) return "-";
  std::string out = found->other_first ? "w" : "";
  for (const TokenRange& range : found->iterations) {
    out += (out.empty() ? "" : " ") + letters.substr(range.begin, range.size());
  }
  return out;
}

std::string found_in(const std::string& letters, std::size_t count = 0) {
  return text_of(find_repetition(sequence(letters), count), letters);
}

std::string found_at(const std::string& letters, const std::vector<std::size_t>& ends) {
  return text_of(find_repetition(sequence(letters), ends), letters);
}

TEST(Repetition, WholeIterations) {
  EXPECT_EQ(found_in("abcdabcd"), "abcd abcd");
  EXPECT_EQ(found_in("aabcaabcaabc"), "aabc aabc aabc");
}

TEST(Repetition, EqualLayersAreNoIterations) {
  EXPECT_EQ(found_in("e" + times(12, "abcd") + "h"), "-");  // one pass
  const std::string pass = "e" + times(12, "abcd") + "h";
  EXPECT_EQ(found_in(times(3, pass)), pass + " " + pass + " " + pass);
  EXPECT_EQ(found_in("e" + times(12, "abcd")), "-");  // without an end of its own
  EXPECT_EQ(found_in(times(12, "abcd") + "h"), "-");
}

TEST(Repetition, OneStepOfTrainingIsNone) {
  EXPECT_EQ(found_in("e" + times(12, "abcd") + "lm" + times(12, "DCBA") + "oo"), "-");
}

TEST(Repetition, PartsAtBothEndsAreLeftOut) {
  // The run begins within an iteration: iterations begin where the trace does.
  EXPECT_EQ(found_in("cdabcdabcdab"), "cdab cdab cdab");
  EXPECT_EQ(found_in("abcdefabcdefabc"), "abcdef abcdef");
}

TEST(Repetition, CopiesNowAndThenDoNotMatter) {
  const std::string one = "abcdefghijklmnopqrst";
  EXPECT_EQ(found_in(one + one + "X" + one), one + " " + one + "X " + one);
}

TEST(Repetition, AWarmUpStandsBefore) { EXPECT_EQ(found_in("axbycdabcdabcd"), "w abcd abcd"); }

TEST(Repetition, NothingOfOneKernelOrOfAFew) {
  EXPECT_EQ(found_in(""), "-");
  EXPECT_EQ(found_in("a"), "-");
  EXPECT_EQ(found_in("aaaaaaaaaaaa"), "-");
  EXPECT_EQ(found_in("abababab"), "-");
  EXPECT_EQ(found_in("abcdefghij"), "-");
}

TEST(Repetition, AsOftenAsAsked) {
  EXPECT_EQ(found_in("eabcabcabch", 3), "abc abc abc");  // layers, if the user says so
  EXPECT_EQ(found_in("abcdabcd", 3), "-");
}

TEST(Repetition, MarkedEnds) {
  // Behind the optimizer (o) the loss scale is updated (s), which belongs to the iteration.
  const std::string one = "abcdefghijklmnos";
  EXPECT_EQ(found_at(one + one + one, {15, 31, 47}), one + " " + one + " " + one);
  // Two optimizers in each iteration.
  EXPECT_EQ(found_at("abcxpqrstyabcxpqrsty", {4, 10, 14, 20}), "abcxpqrsty abcxpqrsty");
  EXPECT_EQ(found_at("abco", {4}), "-");
  EXPECT_EQ(found_at("abco", {}), "-");
}

// One step after another is the sequence's own end: no token repeats, or all do at random.
TEST(Repetition, HostileSequencesEndQuickly) {
  constexpr std::size_t n = 1'000'000;
  TokenSequence distinct, random;
  distinct.essential.assign(n, true);
  random.essential.assign(1000, true);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < n; ++i) {
    distinct.token.push_back(static_cast<std::uint32_t>(i));
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    random.token.push_back(static_cast<std::uint32_t>((state >> 33U) % 1000));
  }
  EXPECT_FALSE(find_repetition(distinct));
  EXPECT_FALSE(find_repetition(random));
}

}  // namespace
}  // namespace tandem
