// Finds where JSON values end, 64 bytes at a time, without parsing them.
#pragma once

#include <cstdint>

namespace tandem {

/// Follows strings and brackets through a text that arrives in pieces. Braces and brackets count
/// alike: whether they match is for the parser to say.
class NestingScanner {
 public:
  static constexpr int block_bytes = 64;

  /// Scans one block. Calls `at_bottom(p, depth)` for each closing bracket at `p` that brings the
  /// depth to 0 or below; stops when it returns true and then returns true itself.
  template <class AtBottom>
  bool scan(const char* block, AtBottom&& at_bottom) {
    const Brackets found = find_brackets(block);
    const int closing = __builtin_popcountll(found.close);
    if (closing < depth_) {  // cannot reach the bottom within this block: count only
      depth_ += __builtin_popcountll(found.open) - closing;
      return false;
    }
    for (std::uint64_t rest = found.open | found.close; rest != 0; rest &= rest - 1) {
      const std::uint64_t bit = rest & (~rest + 1);
      depth_ += (found.open & bit) != 0 ? 1 : -1;
      if ((found.close & bit) == 0 || depth_ > 0) continue;
      if (at_bottom(block + __builtin_ctzll(rest), depth_)) return true;
    }
    return false;
  }

 private:
  struct Brackets {
    std::uint64_t open = 0;
    std::uint64_t close = 0;
  };
  Brackets find_brackets(const char* block);

  std::int64_t depth_ = 0;
  std::uint64_t in_string_ = 0;  // all ones: the block starts inside a string
  std::uint64_t escaped_ = 0;    // 1: the first byte of the block is escaped
};

}  // namespace tandem
