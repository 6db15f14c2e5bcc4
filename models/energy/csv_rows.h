// Rows of the CSV files that the calibration programs write: a header, then values without quotes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// One row; values by column name. Errors: InputError with file and line.
class CsvRow {
 public:
  const std::string& text(std::string_view column) const;
  /// A finite number.
  double number(std::string_view column) const;

 private:
  friend std::vector<CsvRow> read_csv(const std::string& path);
  std::shared_ptr<const std::vector<std::string>> columns_;
  std::shared_ptr<const std::string> path_;
  std::size_t line_ = 0;
  std::vector<std::string> values_;
};

/// Errors: InputError for a file that cannot be read, has no header, or a row of another length.
std::vector<CsvRow> read_csv(const std::string& path);

}  // namespace tandem
