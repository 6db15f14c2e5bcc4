#include "models/energy/csv_rows.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "sim/core/bounds/document_size.h"
#include "sim/core/error.h"
#include "sim/core/files/input_file.h"

namespace tandem {

namespace {

std::vector<std::string> split(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> values(1);
  for (const char c : line) {
    if (c == ',') {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

}  // namespace

const std::string& CsvRow::text(std::string_view column) const {
  for (std::size_t i = 0; i < columns_->size(); ++i) {
    if ((*columns_)[i] == column) return values_[i];
  }
  throw InputError(*path_, "line 1", "no column \"" + std::string(column) + "\"", "it");
}

double CsvRow::number(std::string_view column) const {
  const std::string& value = text(column);
  double out = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, out);
  if (error != std::errc() || stop != end || !std::isfinite(out)) {
    throw InputError(*path_, "line " + std::to_string(line_) + ", " + std::string(column),
                     "\"" + value + "\"", "a number");
  }
  return out;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  const std::string expected = "a CSV file with a header";
  InputFile input(path, expected);
  std::istringstream file(read_whole(input, limits::table_bytes, expected));
  std::string line;
  if (!std::getline(file, line)) throw InputError(path, "", "no content", expected);
  const auto columns = std::make_shared<const std::vector<std::string>>(split(line));
  const auto name = std::make_shared<const std::string>(path);
  std::vector<CsvRow> rows;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r") continue;
    CsvRow row;
    row.columns_ = columns;
    row.path_ = name;
    row.line_ = number;
    row.values_ = split(line);
    if (row.values_.size() != columns->size()) {
      throw InputError(path, "line " + std::to_string(number),
                       std::to_string(row.values_.size()) + " values",
                       std::to_string(columns->size()));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tandem
