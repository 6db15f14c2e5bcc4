// Events of a Chrome trace, one at a time, as raw tokens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/core/error.h"
#include "sim/trace/json/splitter.h"

namespace tandem {

/// One element of traceEvents. Tokens are raw JSON (strings with their quotes) and empty where the
/// key is absent; they hold until the next event.
struct TraceEvent {
  static constexpr std::size_t max_args = 32;
  std::string_view ph, cat, name, ts, dur, pid, tid;
  std::array<std::string_view, max_args> args;  // by the importer's slot
};

/// What an importer tells the reader about the events of its format.
struct EventFormat {
  /// Slot of an args key; negative: not needed.
  int (*arg_slot)(std::string_view key) = nullptr;
  /// True if the args of this event are not needed. Asked when `args` begins; what stands behind
  /// them in the event is not known yet.
  bool (*skip_args)(const TraceEvent& event) = nullptr;
};

/// Pulls events out of the batches of a splitter. Unknown keys are passed over; tokens that are no
/// JSON (NaN, Infinity) are counted in `losses`. Throws InputError with byte offset and event
/// number.
class EventReader {
 public:
  EventReader(JsonSplitter& splitter, const EventFormat& format, LossList& losses);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  bool next(TraceEvent& event);
  /// How many events next() delivered: the number of the current one, from 1.
  std::int64_t number() const { return number_; }
  /// Where the current event stands: "byte 1234 (event 5)".
  std::string place() const;

 private:
  struct Parser;  // simdjson, kept out of this header
  [[noreturn]] void fail(const char* found) const;
  [[noreturn]] void fail_in_batch(const char* found);

  JsonSplitter& splitter_;
  EventFormat format_;
  LossList& losses_;
  std::int64_t number_ = 0;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tandem
