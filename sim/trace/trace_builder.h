// What importers share to turn events, as numbers and texts, into rows of a Trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/beginning.h"
#include "sim/trace/trace.h"

namespace tandem {

/// A time on the trace's clock: `whole_us` microseconds and `ps` picoseconds, 0 <= ps < 1'000'000.
struct ExactTime {
  std::int64_t whole_us = 0;
  std::int64_t ps = 0;
};

/// Begin and length of an event, relative to the trace's origin.
struct Span {
  TimePoint begin;
  Duration duration{0};
};

/// Interns threads, streams, geometries and texts, checks numbers, and counts what is lost.
class TraceBuilder {
 public:
  /// Where the current event stands in its source, e.g. "byte 1234 (event 5)".
  using Place = std::function<std::string()>;
  /// `most_rows`: how many events become rows.
  explicit TraceBuilder(Trace& trace, Place place, std::size_t most_rows = limits::rows)
      : trace_(trace), place_(std::move(place)), beginning_(trace, most_rows) {}

  /// Whether an event begins too late to be kept of a long trace; then it must be dropped.
  bool is_late(const ExactTime& begin) { return beginning_.is_late(begin.whole_us); }
  /// Counts an event that is late. `correlation` joins a call to its device work; -1: none.
  void drop_late(std::int64_t correlation) { beginning_.drop(correlation); }
  /// False if no run has such times; the event is then counted as lost. The first begin becomes the
  /// origin of the trace.
  bool span(const ExactTime& begin, const ExactTime& length, Span& span);

  ThreadId thread(std::int64_t pid, std::int64_t tid);
  StreamId stream(const Stream& stream);
  GeometryId geometry(const LaunchGeometry& geometry);
  /// Remembers a thread's name; finish() gives it to the thread if that has rows.
  void name_thread(std::int64_t pid, std::int64_t tid, std::string_view name);

  StringId text(std::string_view text);
  /// A byte count; one below 0 or beyond `limits::bytes` is counted and taken as 0.
  std::int64_t bytes(std::int64_t n);
  /// An invalid id if the sizes are none that a GPU can launch; that is counted.
  GeometryId checked_geometry(const std::array<std::int64_t, 3>& grid,
                              const std::array<std::int64_t, 3>& block, std::int64_t registers,
                              std::int64_t shared_bytes);

  /// Counts a loss at the current event; the description of a new code names that event.
  void lose(std::string_view code, Severity severity, std::string_view description);
  /// Errors: InputError if the trace has `count` of `what` already, and `most` are allowed.
  void check_room(std::size_t count, std::size_t most, std::string_view what) const;
  /// Rows of HostOps that an importer remembers: they follow where rows go.
  std::vector<std::uint32_t>& remembered_ops() { return beginning_.remembered_ops(); }
  void finish();

 private:
  std::size_t geometry_slot(const LaunchGeometry& geometry) const;

  Trace& trace_;
  Place place_;
  Beginning beginning_;
  bool has_origin_ = false;
  Duration all_events_{0};  // sum of all durations, which later sums rely on
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadId> threads_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  std::size_t thread_name_bytes_ = 0;
  ThreadId last_thread_;
  std::map<std::array<std::int64_t, 3>, StreamId> streams_;
  StreamId last_stream_;
  std::vector<GeometryId> geometry_slots_;  // open addressing, a power of two, at most half full
};

}  // namespace tandem
