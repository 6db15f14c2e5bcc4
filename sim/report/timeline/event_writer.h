// Events in Chrome's JSON, as Perfetto keeps all of them: tests/timeline/perfetto_rules.py states
// the rules.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "sim/core/time.h"

namespace tandem {

/// One row of slices: a thread of a process. Its id is that of no other track of the file.
struct Track {
  int pid = 0;
  int tid = 0;
};

/// The args of an event, as a JSON object.
class EventArgs {
 public:
  EventArgs& text(std::string_view key, std::string_view value);
  EventArgs& number(std::string_view key, double value);
  EventArgs& size(std::string_view key, const std::array<std::uint32_t, 3>& value);
  /// Empty if nothing was added.
  std::string json() const { return json_.empty() ? json_ : json_ + "}"; }

 private:
  void key(std::string_view key);
  std::string json_;
};

/// A slice of a track, in whole nanoseconds of the file.
struct FileSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class EventWriter {
 public:
  explicit EventWriter(std::ostream& out);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Times of what follows count from here. Nothing that is written may begin before it: Perfetto
  /// drops events with negative times.
  void set_origin(TimePoint origin) { origin_ = origin; }
  std::int64_t ns(TimePoint time) const;
  FileSpan span(TimePoint begin, TimePoint end) const { return {ns(begin), ns(end)}; }

  void name_process(int pid, std::string_view name);
  Track add_track(int pid, std::string_view name);

  /// `args`: of EventArgs::json(), or nothing.
  void slice(const Track& track, std::string_view category, std::string_view name,
             const FileSpan& span, std::string_view args = {});
  void instant(const Track& track, std::string_view category, std::string_view name,
               std::int64_t at_ns);
  void counter(int pid, std::string_view name, TimePoint time, std::int64_t value);
  /// An arrow between two slices; each end is written right after its slice and begins with it.
  std::uint64_t new_flow() { return next_flow_++; }
  void flow_out(const Track& track, std::int64_t at_ns, std::uint64_t id);
  void flow_in(const Track& track, std::int64_t at_ns, std::uint64_t id);

 private:
  void open(char phase, int pid, int tid, std::string_view name);
  void time(std::string_view key, std::int64_t ns);
  void name_track(std::string_view what, int pid, int tid, std::string_view name);
  void flush();

  std::ostream& out_;
  fmt::memory_buffer buffer_;
  TimePoint origin_{};
  int next_tid_ = 1001;
  std::uint64_t next_flow_ = 1;
  bool first_ = true;
};

}  // namespace tandem
