// Rows of CSV files without quotes, which calibration programs and `measured_layers.py` write: a
// header, then rows of as many values.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

/// One row; values by column name, or all in the order of the columns. The rows of a file share its
/// text. Errors: InputError with file and line.
class CsvRow {
 public:
  std::string_view text(std::string_view column) const;
  /// A finite number.
  double number(std::string_view column) const;

  std::span<const std::string_view> columns() const { return file_->columns; }
  std::span<const std::string_view> values() const;
  const std::string& file() const { return file_->name; }
  std::string place() const;  // "line 3"

 private:
  friend std::vector<CsvRow> read_csv(const std::string& path);
  struct File {
    std::string name, text;
    std::vector<std::string_view> columns, values;  // of the text
  };
  CsvRow(std::shared_ptr<const File> file, std::size_t first, std::size_t line)
      : file_(std::move(file)), first_(first), line_(line) {}

  std::shared_ptr<const File> file_;
  std::size_t first_;  // of its values
  std::size_t line_;   // from 1
};

/// Errors: InputError for a file that cannot be read, has no header, or a row of another length.
std::vector<CsvRow> read_csv(const std::string& path);

/// The number that `text` is, all of it; nothing where it is none, or not finite.
std::optional<double> finite_number(std::string_view text);

}  // namespace tandem
