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

/// A finished point as a line of a PointStore for `inputs`.
std::string point_line(std::uint64_t inputs, const Point& point, const PointResult& result);

/// Points that are finished for the inputs of one sweep. One line a point:
/// {"hash": "of the rest", "inputs": "hash", "point": "batch=64", "values": {"time_us": 1.5, ...}}
/// or "error" in place of values; numbers survive the round trip exactly. A last line that is cut
/// off (a killed run) or one that this version cannot read counts as not there. Lines of other
/// inputs stay and are ignored.
class PointStore {
 public:
  /// Reads `path` if it is there, unless `fresh`, which empties it, and holds it alone until
  /// destroyed. Errors: InputError, also while another process holds it, and for a whole line whose
  /// hash says that nobody but its user wrote it.
  PointStore(std::string path, std::uint64_t inputs, bool fresh = false);
  ~PointStore();
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;

  /// What an earlier run found, or null.
  const PointResult* find(const Point& point) const;
  std::size_t size() const { return found_.size(); }
  /// The line of one point, which append() writes in one piece; both from several threads. Errors
  /// of append(): InputError if the disk is full.
  std::string line(const Point& point, const PointResult& result) const;
  void append(std::string_view line);

 private:
  void open_alone(bool fresh);
  void read_lines(std::string_view text);
  void write(std::string_view text);
  void cut_to(std::size_t bytes);

  std::string path_;
  std::uint64_t inputs_;
  std::unordered_map<std::string, PointResult> found_;
  std::mutex mutex_;
  int file_ = -1;
};

}  // namespace tandem
