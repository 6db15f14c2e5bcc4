// Interned strings: each distinct text is stored once and named by a 32-bit id.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/column.h"
#include "sim/core/ids.h"

namespace tandem {

/// Texts are appended to one buffer; an open-addressing table finds them again. Views that get()
/// returns hold until the next intern().
class StringTable {
 public:
  StringId intern(std::string_view text);
  /// The id of `text`, or an invalid id if it was never interned.
  StringId find(std::string_view text) const;
  /// The text of `id`; the empty text for an invalid id.
  std::string_view get(StringId id) const;
  std::size_t size() const { return end_.size(); }
  std::size_t bytes() const { return text_.bytes() + end_.bytes() + slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = StringId::none_value;
  };
  std::size_t probe(std::string_view text, std::uint32_t hash) const;
  void grow();

  Column<char> text_;
  Column<std::uint64_t> end_;  // end offset of each text
  std::vector<Slot> slots_;    // power of two, at most half full
};

}  // namespace tandem
