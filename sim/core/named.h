// Names of an enumeration's values as users write them: one table for parsing, printing and help.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/error.h"

namespace tandem {

template <class E>
struct Named {
  E value;
  std::string_view name;
  std::string_view doc = {};
};

/// "a, b, c". `table`: a range of Named<E>, here and below.
template <class Table>
std::string names_of(const Table& table, std::string_view separator = ", ") {
  std::string names;
  for (const auto& row : table) {
    if (!names.empty()) names += separator;
    names += row.name;
  }
  return names;
}

/// "unknown" for a value that the table does not hold.
template <class Table, class E>
std::string_view name_of(const Table& table, E value) {
  for (const auto& row : table) {
    if (row.value == value) return row.name;
  }
  return "unknown";
}

/// The value called `text`. Errors: InputError at file and key that lists the names.
template <class Table>
auto parse_named(const Table& table, std::string_view text, std::string_view file,
                 std::string_view key) {
  for (const auto& row : table) {
    if (row.name == text) return row.value;
  }
  throw InputError(std::string(file), std::string(key), "\"" + std::string(text) + "\"",
                   "one of: " + names_of(table));
}

}  // namespace tandem
