// Texts known at compile time -> values: one small constant table per vocabulary.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

template <class Value>
struct NameRow {
  std::string_view name;
  Value value;
};

/// Finds one of N names with a hash of its length and three characters, and one comparison.
template <class Value, std::size_t N>
class NameTable {
 public:
  constexpr explicit NameTable(const std::array<NameRow<Value>, N>& rows) : rows_(rows) {
    for (std::size_t i = 0; i < N; ++i) {
      std::size_t at = slot_of(rows[i].name);
      while (slots_[at] != 0) at = (at + 1) % slot_count;
      slots_[at] = static_cast<std::uint8_t>(i + 1);
    }
  }

  /// The row of a name; null if it is not in the table.
  constexpr const NameRow<Value>* find(std::string_view name) const {
    if (name.empty()) return nullptr;
    for (std::size_t at = slot_of(name); slots_[at] != 0; at = (at + 1) % slot_count) {
      const NameRow<Value>& row = rows_[slots_[at] - 1u];
      if (row.name == name) return &row;
    }
    return nullptr;
  }
  constexpr const std::array<NameRow<Value>, N>& rows() const { return rows_; }

 private:
  static_assert(N < 256);
  static constexpr std::size_t slot_count = std::bit_ceil(4 * N);
  static constexpr std::size_t slot_of(std::string_view s) {
    const auto c = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(s[i])}; };
    return (s.size() * 5 + c(0) * 3 + c(s.size() / 2) * 7 + c(s.size() - 1) * 31) % slot_count;
  }

  std::array<NameRow<Value>, N> rows_;
  std::array<std::uint8_t, slot_count> slots_{};
};

}  // namespace tandem
