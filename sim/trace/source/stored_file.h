// A file as it is stored: its bytes in order, and how far it has been read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// What a path is called that is no file: bytes that another program hands over.
inline constexpr const char* standard_input = "-";

/// An open file or pipe. Throws InputError for what cannot be opened or read.
class StoredFile {
 public:
  explicit StoredFile(const std::string& path);
  ~StoredFile();
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  /// Fills `to` from the front, all of it unless the file ends; returns how many bytes.
  std::size_t read(std::span<char> to);
  /// The first bytes of the file, which stay to be read.
  std::size_t peek(std::span<char> to);

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }  // 0: of a pipe, not known
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  std::size_t read_file(std::span<char> to);

  std::string path_;
  std::vector<char> peeked_;
  int file_ = -1;
  std::int64_t size_ = 0;
  std::int64_t bytes_read_ = 0;
};

}  // namespace tandem
