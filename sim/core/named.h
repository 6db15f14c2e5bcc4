// Names of an enumeration's values as users write them: one table for parsing, printing and help;
// and what somebody who misspelt a name may have meant.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace tandem {

/// ASCII letters as small ones.
std::string lower_case(std::string_view text);

/// Position of the name that `text` was probably meant to be: one that holds it, or one that few
/// letters make of it; nothing if none is near. Upper and lower case do not differ.
std::optional<std::size_t> nearest_name(std::span<const std::string> names, std::string_view text);

/// What is expected in place of `text`: "one of: a, b, c", with "; did you mean b?" if one is near.
std::string expected_name(std::span<const std::string> names, std::string_view text);

template <class E>
struct Named {
  E value;
  std::string_view name;
  std::string_view doc = {};
};

/// How many values an enumeration has whose last one is `last`: what a table by value must hold.
template <class E>
constexpr std::size_t values_up_to(E last) {
  return static_cast<std::size_t>(last) + 1;
}

/// `table`: a range of rows with a name, here and below.
template <class Table>
std::vector<std::string> name_list(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

/// "a, b, c".
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

/// The row called `text`; null: there is none.
template <class Table>
auto find_named(const Table& table, std::string_view text) -> decltype(&*std::begin(table)) {
  for (const auto& row : table) {
    if (row.name == text) return &row;
  }
  return nullptr;
}

/// The value called `text`. Errors: InputError at file and key that lists the names.
template <class Table>
auto parse_named(const Table& table, std::string_view text, std::string_view file,
                 std::string_view key) {
  if (const auto* const row = find_named(table, text)) return row->value;
  throw InputError(std::string(file), std::string(key), "\"" + std::string(text) + "\"",
                   expected_name(name_list(table), text));
}

}  // namespace tandem
