// A text that many short parts are looked for in, nearly all of them in vain.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace tandem {

/// Remembers which pairs of neighbouring characters occur: a part with a pair that does not is
/// ruled out by one bit, without a search.
class SearchText {
 public:
  explicit SearchText(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const std::size_t pair = slot(text[i], text[i + 1]);
      pairs_[pair / 64] |= std::uint64_t{1} << (pair % 64);
    }
  }

  std::string_view text() const { return text_; }

  /// Whether `part` occurs, the same as text().find(part) != npos.
  bool has(std::string_view part) const {
    if (part.size() > 1 &&
        !(may_have(part[0], part[1]) && may_have(part[part.size() - 2], part[part.size() - 1]))) {
      return false;
    }
    return text_.find(part) != std::string_view::npos;
  }

 private:
  static constexpr std::size_t bits = 4096;
  static std::size_t slot(char first, char second) {
    return (std::size_t{static_cast<unsigned char>(first)} * 61 +
            static_cast<unsigned char>(second)) %
           bits;
  }
  bool may_have(char first, char second) const {
    const std::size_t pair = slot(first, second);
    return (pairs_[pair / 64] >> (pair % 64) & 1U) != 0;
  }

  std::string_view text_;
  std::array<std::uint64_t, bits / 64> pairs_{};
};

/// The number right after the first `key`, for example the stages of "_stage4_"; 0: none.
inline int number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  int value = 0;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), value);
  return value;
}

}  // namespace tandem
