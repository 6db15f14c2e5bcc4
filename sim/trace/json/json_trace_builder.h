// A TraceBuilder for events whose values are raw JSON tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/trace/json/events.h"
#include "sim/trace/trace_builder.h"

namespace tandem {

/// Turns tokens into the numbers and texts that a TraceBuilder takes, and counts those that are
/// neither.
class JsonTraceBuilder : public TraceBuilder {
 public:
  JsonTraceBuilder(Trace& trace, const EventReader& events, std::size_t most_rows)
      : TraceBuilder(
            trace, [&events] { return events.place(); }, most_rows) {}

  /// False if the event has no usable ts and dur or begins too late to be kept; it is then counted.
  /// `correlation`: the token of what joins a call to its device work.
  bool span(const TraceEvent& event, std::string_view correlation, Span& span);
  void name_thread(std::int64_t pid, std::int64_t tid, std::string_view token);
  /// The text of a string token; a malformed escape is kept as it stands and counted.
  StringId text(std::string_view token);
  /// The number in `token`, or `absent` if there is none; a token that is no number is counted.
  std::int64_t integer(std::string_view token, std::int64_t absent);
  std::int64_t bytes(std::string_view token) { return TraceBuilder::bytes(integer(token, 0)); }

 private:
  bool time(std::string_view token, std::string_view what, ExactTime& time);

  std::string scratch_;
};

}  // namespace tandem
