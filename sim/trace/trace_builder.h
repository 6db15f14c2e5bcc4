// What importers share to turn raw event tokens into rows of a Trace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/json/events.h"
#include "sim/trace/json/token.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Begin and length of an event, relative to the trace's origin.
struct Span {
  TimePoint begin;
  Duration duration{0};
};

/// Interns threads, streams, geometries and texts, checks numbers, and counts what is lost.
class TraceBuilder {
 public:
  TraceBuilder(Trace& trace, const EventReader& events) : trace_(trace), events_(events) {}

  /// False if the event has no usable ts and dur; it is then counted as lost. The first usable ts
  /// becomes the origin of the trace.
  bool span(const TraceEvent& event, Span& span);

  ThreadId thread(std::int64_t pid, std::int64_t tid);
  StreamId stream(const Stream& stream);
  GeometryId geometry(const LaunchGeometry& geometry);
  /// Remembers a thread's name, given as a string token; finish() gives it to the thread if that
  /// has rows.
  void name_thread(std::int64_t pid, std::int64_t tid, std::string_view token);

  /// The text of a string token; a malformed escape is kept as it stands and counted.
  StringId text(std::string_view token);
  /// JSON text without white space; invalid for an absent token.
  StringId json(std::string_view token);
  /// The number in `token`, or `absent` if there is none; a token that is no number is counted.
  std::int64_t integer(std::string_view token, std::int64_t absent);
  std::int64_t bytes(std::string_view token);
  /// An invalid id if the sizes are none that a GPU can launch; that is counted.
  GeometryId checked_geometry(const std::array<std::int64_t, 3>& grid,
                              const std::array<std::int64_t, 3>& block, std::int64_t registers,
                              std::int64_t shared_bytes);

  /// Counts a loss at the current event; the description of a new code names that event.
  void lose(std::string_view code, Severity severity, std::string_view description);
  void finish();

 private:
  bool time(std::string_view token, std::string_view what, ExactTime& time);
  std::size_t geometry_slot(const LaunchGeometry& geometry) const;

  Trace& trace_;
  const EventReader& events_;
  bool has_origin_ = false;
  std::string scratch_;
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadId> threads_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  ThreadId last_thread_;
  std::map<std::array<std::int64_t, 3>, StreamId> streams_;
  StreamId last_stream_;
  std::vector<GeometryId> geometry_slots_;  // open addressing, a power of two, at most half full
};

/// N of `ProfilerStep#N`; -1 for other names.
std::int64_t profiler_step(std::string_view name);

}  // namespace tandem
