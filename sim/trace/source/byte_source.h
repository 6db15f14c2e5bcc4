// The content of a file, plain or compressed, as one forward stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sim/trace/source/decoder.h"
#include "sim/trace/source/stored_file.h"

namespace tandem {

/// Reads a file in pieces. Content that is gzip or zstd, whatever the file's name, is decompressed
/// on the way; several members or frames are one stream. Throws InputError.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path);

  /// Fills `to` from the front, all of it unless the stream ends; returns how many bytes.
  std::size_t read(std::span<char> to);

  const std::string& path() const { return file_.path(); }
  std::int64_t file_bytes() const { return file_.size(); }         // size as stored
  std::int64_t stored_read() const { return file_.bytes_read(); }  // of these, read so far
  std::int64_t bytes_read() const { return bytes_read_; }          // delivered, after decompression

 private:
  StoredFile file_;
  std::unique_ptr<Decoder> decoder_;  // null: the file is plain
  std::int64_t bytes_read_ = 0;
};

}  // namespace tandem
