// Texts in tables of comma-separated values.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace tandem {

/// In quotes, those inside doubled.
inline void append_quoted(fmt::memory_buffer& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace tandem
