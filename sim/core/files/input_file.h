// The one place where files of input are opened. What is no file, or would never end, is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tandem {

/// What a path is called that is no file: bytes that another program hands over.
inline constexpr const char* standard_input = "-";

/// A regular file that is open, or a pipe that somebody writes to, by name or as standard input.
/// Folders and devices are no input: a folder has no bytes, and a device may give them for ever.
class InputFile {
 public:
  /// Errors: InputError, which says that `expected` was.
  InputFile(const std::string& path, const std::string& expected);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `to` from the front, all of it unless the file ends; returns how many bytes.
  std::size_t read(std::span<char> to);

  const std::string& name() const { return name_; }  // for errors
  std::int64_t size() const { return size_; }        // 0: of a pipe, not known

 private:
  void check(const std::string& expected);
  void wait_for_writer(const std::string& expected);

  std::string name_;
  int file_ = -1;
  std::int64_t size_ = 0;
  std::int64_t bytes_read_ = 0;
  std::optional<char> first_;  // of a pipe: what was read to see whether anything comes
};

/// All that is left of `file`. Errors: InputError for more than `most_bytes`.
std::string read_whole(InputFile& file, std::size_t most_bytes, const std::string& expected);

}  // namespace tandem
