// Rows of a CSV table by column name.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/text/numbers.h"
#include "sim/counters/csv_lines.h"

namespace tandem::kernel_time {

/// One CSV file, plain or gzip, whose first line names the columns.
class TableFile {
 public:
  explicit TableFile(const std::string& path) : lines_(path) {
    if (!lines_.next()) lines_.fail("an empty file", "a header line");
    for (const std::string_view name : lines_.fields()) names_.emplace_back(name);
  }

  bool next() { return lines_.next() && (row_ = &lines_.fields(), true); }

  /// Number of the column, or -1.
  int find(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return static_cast<int>(i);
    }
    return -1;
  }
  /// Number of the column. Errors: InputError if there is none.
  int column(std::string_view name) const {
    const int i = find(name);
    if (i < 0) lines_.fail("no column " + std::string(name), "a table with that column");
    return i;
  }
  std::string_view text(int column) const {
    if (column < 0 || static_cast<std::size_t>(column) >= row_->size()) return {};
    return (*row_)[static_cast<std::size_t>(column)];
  }
  /// Errors: InputError if the field is no number.
  double number(int column) const {
    const std::string_view t = text(column);
    const auto value = plain_number<double>(t);
    if (!value) lines_.fail(t, "a number");
    return *value;
  }
  std::int64_t integer(int column) const { return static_cast<std::int64_t>(number(column)); }
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    lines_.fail(found, expected);
  }

 private:
  CsvLines lines_;
  std::vector<std::string> names_;
  const std::vector<std::string_view>* row_ = nullptr;
};

/// Number that a text starts with, e.g. of "0.19ms"; false if it starts with none.
inline bool leading_number(std::string_view text, double& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

}  // namespace tandem::kernel_time
