// Numbers that texts are.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tandem {

/// The number that `text` is, all of it; nothing where it is none, or too large for its type.
template <class Number>
std::optional<Number> plain_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end) return {};
  return value;
}

}  // namespace tandem
