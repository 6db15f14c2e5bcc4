// Where a sequence of tokens repeats itself: the iterations of a run that nobody marked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

/// A sequence of device work. Equal work has equal tokens; tokens are numbers below `tokens`.
struct TokenSequence {
  std::vector<std::uint32_t> token;
  std::vector<bool> essential;  // per token number: its absence makes two iterations differ
};

/// Positions of one iteration: [begin, end).
struct TokenRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// What repeats. Ranges ascend and do not overlap.
struct Repetition {
  std::vector<TokenRange> iterations;  // at least two
  bool other_first = false;  // an iteration of other work, a warm-up, stands before the first one
};

/// The finest cut into alike iterations that explains all essential work: whatever stands outside
/// of them must be a part of an iteration or a warm-up before the first, so that the equal layers
/// of a network are no iterations. O(n log n); nothing if there is none. `count`: 0, or how many
/// iterations there must be; then work may be left over.
std::optional<Repetition> find_repetition(const TokenSequence& sequence, std::size_t count = 0);

/// The same where something says where iterations end: `ends` ascend, and an iteration may hold
/// several. What stands behind the last of them is no complete iteration. One iteration and another
/// one before it suffice.
std::optional<Repetition> find_repetition(const TokenSequence& sequence,
                                          std::span<const std::size_t> ends);

}  // namespace tandem
