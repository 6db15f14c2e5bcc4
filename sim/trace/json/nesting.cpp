#include "sim/trace/json/nesting.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tandem {

namespace {

// One bit a byte: where the block has which character.
struct Masks {
  std::uint64_t quote = 0;
  std::uint64_t backslash = 0;
  std::uint64_t open = 0;
  std::uint64_t close = 0;
};

#if defined(__SSE2__)
std::uint64_t equal(__m128i bytes, char c) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
}

Masks classify(const char* block) {
  Masks m;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));  // '[' -> '{', ']' -> '}'
    m.quote |= equal(bytes, '"') << (16 * i);
    m.backslash |= equal(bytes, '\\') << (16 * i);
    m.open |= equal(folded, '{') << (16 * i);
    m.close |= equal(folded, '}') << (16 * i);
  }
  return m;
}
#else
Masks classify(const char* block) {
  Masks m;
  for (int i = 0; i < NestingScanner::block_bytes; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char c = block[i];
    if (c == '"') m.quote |= bit;
    if (c == '\\') m.backslash |= bit;
    if (c == '{' || c == '[') m.open |= bit;
    if (c == '}' || c == ']') m.close |= bit;
  }
  return m;
}
#endif

// Marks the bytes that follow an unescaped backslash; `carry` links blocks. Backslashes are rare.
std::uint64_t find_escaped(std::uint64_t backslash, std::uint64_t& carry) {
  std::uint64_t escaped = carry;
  carry = 0;
  for (std::uint64_t rest = backslash; rest != 0; rest &= rest - 1) {
    const std::uint64_t bit = rest & (~rest + 1);
    if ((escaped & bit) != 0) continue;
    escaped |= bit << 1;
    carry = bit >> 63;
  }
  return escaped;
}

// Bit i of the result is the parity of bits 0..i: ones from an opening quote up to its closing one.
std::uint64_t prefix_parity(std::uint64_t x) {
  for (int shift = 1; shift < 64; shift *= 2) x ^= x << shift;
  return x;
}

}  // namespace

NestingScanner::Brackets NestingScanner::find_brackets(const char* block) {
  const Masks m = classify(block);
  std::uint64_t quote = m.quote;
  if ((m.backslash | escaped_) != 0) quote &= ~find_escaped(m.backslash, escaped_);
  const std::uint64_t string = prefix_parity(quote) ^ in_string_;
  in_string_ = std::uint64_t{0} - (string >> 63);
  return {m.open & ~string, m.close & ~string};
}

}  // namespace tandem
