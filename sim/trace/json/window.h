// A window over a byte stream that keeps what is not consumed yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/bounds/trace_size.h"
#include "sim/trace/source/byte_source.h"

namespace tandem {

/// [begin, end) are the bytes at hand. fill() reads more and may move them. One writable byte
/// stands before `begin` and `padding` bytes after `end`, so that a caller can frame the text in
/// place.
class JsonWindow {
 public:
  static constexpr std::size_t chunk = std::size_t{1} << 20;   // read at a time
  static constexpr std::size_t limit = limits::element_bytes;  // the longest text held at once
  static constexpr std::size_t padding = 128;

  explicit JsonWindow(ByteSource& source);

  char* begin() const { return begin_; }
  char* end() const { return end_; }
  std::string_view view() const { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }
  const std::string& path() const { return source_.path(); }

  /// Position of `p` in the uncompressed stream.
  std::int64_t offset(const char* p) const { return end_offset_ - (end_ - p); }
  void consume_to(const char* p) { begin_ += p - begin_; }
  /// Reads up to a chunk more behind `end`; false at the end of the stream. Throws InputError if
  /// more than limit bytes would have to be held.
  bool fill();

 private:
  void make_room();

  ByteSource& source_;
  std::vector<char> buffer_;
  char* begin_ = nullptr;
  char* end_ = nullptr;
  std::int64_t end_offset_ = 0;
};

}  // namespace tandem
