// Finished points on disk: JSON lines that are only ever appended to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sim/sweep/grid.h"
#include "sim/sweep/metrics.h"

namespace tandem {

/// FNV-1a, 64 bit: tells contents apart, no protection against intent.
class ContentHash {
 public:
  void add(std::string_view bytes);
  /// Adds name and content. Errors: InputError if the file cannot be read.
  void add_file(const std::string& path, std::string_view name);
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ull;
};

/// Points that are finished for the inputs of one sweep. One line a point:
/// {"inputs": "hash", "point": "batch=64", "values": {"time_us": 1.5, ...}} or "error" in place of
/// values; numbers survive the round trip exactly. A line that is cut off (a killed run) or that
/// this version cannot read counts as not there. Lines of other inputs stay and are ignored.
class PointStore {
 public:
  /// Reads `path` if it is there and opens it to append. Errors: InputError.
  PointStore(std::string path, std::uint64_t inputs);
  ~PointStore();
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;

  /// What an earlier run found, or null.
  const PointResult* find(const Point& point) const;
  std::size_t size() const { return found_.size(); }
  /// Writes one line in one piece; from several threads. Errors: InputError if the disk is full.
  void append(const Point& point, const PointResult& result);

 private:
  void read_lines(std::string_view text);
  void write(std::string_view text);

  std::string path_;
  std::string inputs_;
  std::unordered_map<std::string, PointResult> found_;
  std::mutex mutex_;
  int file_ = -1;
};

}  // namespace tandem
