// The content of a file, plain or compressed, as one forward stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/source/decoder.h"
#include "sim/trace/source/stored_file.h"

namespace tandem {

/// Reads a file in pieces. Content that is gzip or zstd, whatever the file's name, is decompressed
/// on the way; several members or frames are one stream. Throws InputError.
class ByteSource {
 public:
  /// Told now and then of the stored file: bytes read, size.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;
  explicit ByteSource(const std::string& path, Progress progress = {});

  /// The first bytes of the content, `prefix_bytes` unless it ends before; they stay to be read.
  static constexpr std::size_t prefix_bytes = std::size_t{1} << 20;
  std::string_view prefix();

  /// Fills `to` from the front, all of it unless the stream ends; returns how many bytes.
  std::size_t read(std::span<char> to);

  const std::string& path() const { return file_.path(); }
  std::int64_t file_bytes() const { return file_.size(); }         // size as stored
  std::int64_t stored_read() const { return file_.bytes_read(); }  // of these, read so far
  std::int64_t bytes_read() const { return bytes_read_; }          // delivered, after decompression

 private:
  std::size_t decode(std::span<char> to);
  void report();

  StoredFile file_;
  std::unique_ptr<Decoder> decoder_;  // null: the file is plain
  std::vector<char> ahead_;           // what prefix() took and read() did not deliver yet
  std::size_t ahead_at_ = 0;
  Progress progress_;
  std::int64_t next_report_ = 0;
  std::int64_t bytes_read_ = 0;
};

}  // namespace tandem
