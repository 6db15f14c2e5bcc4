// The bytes of a trace file, plain or gzip, as one forward stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tandem {

/// Reads a file in pieces and inflates it on the way if its content is gzip (several members are
/// one stream). Nothing but a fixed input buffer is held. Throws InputError.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `to` from the front, all of it unless the stream ends; returns how many bytes.
  std::size_t read(std::span<char> to);

  const std::string& path() const { return path_; }
  std::int64_t file_bytes() const { return file_bytes_; }    // size as stored
  std::int64_t stored_read() const { return stored_read_; }  // of these, read so far
  std::int64_t bytes_read() const { return bytes_read_; }    // delivered, after decompression

 private:
  struct Gzip;
  std::size_t read_stored(std::span<char> to);
  std::size_t read_gzip(std::span<char> to);
  bool next_member();
  bool refill();
  [[noreturn]] void fail_gzip(const char* found, const char* expected) const;

  std::string path_;
  int file_ = -1;
  std::int64_t file_bytes_ = 0;
  std::int64_t stored_read_ = 0;
  std::int64_t bytes_read_ = 0;
  std::unique_ptr<Gzip> gzip_;  // null: the file is plain
};

}  // namespace tandem
