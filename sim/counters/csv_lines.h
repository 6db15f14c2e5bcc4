// CSV records out of a plain or compressed file that may hold other lines as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/source/byte_source.h"

namespace tandem {

/// Reads a file record by record: a line, or several where a quoted field spans lines.
class CsvLines {
 public:
  explicit CsvLines(const std::string& path);

  /// Moves to the next line. False at the end of the file. Errors: InputError.
  bool next();

  /// The line without its end.
  std::string_view text() const { return line_; }
  /// Number of the line that the record began on, from 1.
  std::int64_t line() const { return first_line_; }
  /// Splits the line at commas outside quotes; takes in more lines until its quotes are closed.
  /// Views hold until the next call. Errors: InputError for a quote that is never closed.
  const std::vector<std::string_view>& fields();

  [[noreturn]] void fail(std::string_view found, std::string_view expected) const;

 private:
  bool append_line();
  bool refill();

  ByteSource source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::string line_;
  std::int64_t first_line_ = 0;
  std::int64_t lines_ = 0;
  std::string unquoted_;
  std::vector<std::string_view> fields_;
};

}  // namespace tandem
