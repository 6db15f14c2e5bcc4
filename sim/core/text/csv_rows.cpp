#include "sim/core/text/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/bounds/document_size.h"
#include "sim/core/error.h"
#include "sim/core/files/input_file.h"
#include "sim/core/text/numbers.h"

namespace tandem {

namespace {

/// Cuts the first line off.
std::string_view cut_line(std::string_view& rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void split(std::string_view line, std::vector<std::string_view>& out) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != ',') continue;
    out.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  out.push_back(line.substr(begin));
}

}  // namespace

std::string_view CsvRow::text(std::string_view column) const {
  const auto found = std::find(file_->columns.begin(), file_->columns.end(), column);
  if (found != file_->columns.end()) return values()[std::size_t(found - file_->columns.begin())];
  throw InputError(file(), "line 1", fmt::format("no column \"{}\"", column), "it");
}

double CsvRow::number(std::string_view column) const {
  const std::string_view value = text(column);
  if (const auto number = finite_number(value)) return *number;
  throw InputError(file(), fmt::format("{}, {}", place(), column), fmt::format("\"{}\"", value),
                   "a number");
}

std::span<const std::string_view> CsvRow::values() const {
  return std::span(file_->values).subspan(first_, file_->columns.size());
}

std::string CsvRow::place() const { return fmt::format("line {}", line_); }

std::vector<CsvRow> read_csv(const std::string& path) {
  const std::string expected = "a CSV file with a header";
  InputFile input(path, expected);
  const auto file = std::make_shared<CsvRow::File>();
  file->name = path;
  file->text = read_whole(input, limits::table_bytes, expected);
  std::string_view rest = file->text;
  if (rest.empty()) throw InputError(path, "", "no content", expected);
  split(cut_line(rest), file->columns);
  const auto lines = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n')) + 1;
  file->values.reserve(lines * file->columns.size());
  std::vector<CsvRow> rows;
  rows.reserve(lines);
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const std::string_view line = cut_line(rest);
    if (line.empty()) continue;
    const std::size_t first = file->values.size();
    split(line, file->values);
    if (const std::size_t found = file->values.size() - first; found != file->columns.size()) {
      throw InputError(path, fmt::format("line {}", number), fmt::format("{} values", found),
                       std::to_string(file->columns.size()));
    }
    rows.push_back(CsvRow(file, first, number));
  }
  return rows;
}

std::optional<double> finite_number(std::string_view text) {
  const auto number = plain_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace tandem
