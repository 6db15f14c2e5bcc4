// A trace or a report as it is stored: its bytes in order, and how far it has been read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/core/files/input_file.h"

namespace tandem {

/// Throws InputError for what cannot be opened or read.
class StoredFile {
 public:
  explicit StoredFile(const std::string& path);

  /// Fills `to` from the front, all of it unless the file ends; returns how many bytes.
  std::size_t read(std::span<char> to);
  /// The first bytes of the file, which stay to be read.
  std::size_t peek(std::span<char> to);

  const std::string& path() const { return file_.name(); }
  std::int64_t size() const { return file_.size(); }
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  InputFile file_;
  std::vector<char> peeked_;
  std::int64_t bytes_read_ = 0;
};

}  // namespace tandem
