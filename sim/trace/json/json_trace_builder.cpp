#include "sim/trace/json/json_trace_builder.h"

#include <fmt/format.h>

#include "sim/trace/json/token.h"

namespace tandem {

// `what` is "timestamp" or "duration" and names the codes.
bool JsonTraceBuilder::time(std::string_view token, std::string_view what, ExactTime& time) {
  const auto lost = [&](const char* prefix, std::string_view reason) {
    lose(fmt::format("{}_{}", prefix, what), Severity::data_loss,
         fmt::format("events whose {} {} were dropped", what, reason));
    return false;
  };
  if (token.empty()) return lost("missing", "is missing");
  switch (parse_us(token, time)) {
    case NumberError::none: return true;
    case NumberError::not_a_number: return lost("bad", "is no number");
    case NumberError::negative: return lost("negative", "is negative");
    case NumberError::out_of_range: return lost("absurd", "is too large");
  }
  return false;
}

bool JsonTraceBuilder::span(const TraceEvent& event, std::string_view correlation, Span& span) {
  ExactTime begin;
  ExactTime length;
  if (!time(event.ts, "timestamp", begin) || !time(event.dur, "duration", length)) return false;
  if (!is_late(begin)) return TraceBuilder::span(begin, length, span);
  drop_late(integer(correlation, -1));
  return false;
}

void JsonTraceBuilder::name_thread(std::int64_t pid, std::int64_t tid, std::string_view token) {
  TraceBuilder::name_thread(pid, tid, unescape(token, scratch_).value_or(unquote(token)));
}

StringId JsonTraceBuilder::text(std::string_view token) {
  if (token.empty()) lose("missing_name", Severity::warning, "events without a name were kept");
  if (const auto text = unescape(token, scratch_)) return TraceBuilder::text(*text);
  lose("invalid_escape", Severity::warning,
       "names with a malformed escape were kept as they stand");
  return TraceBuilder::text(unquote(token));
}

std::int64_t JsonTraceBuilder::integer(std::string_view token, std::int64_t absent) {
  if (token.empty()) return absent;
  if (const auto number = parse_integer(token)) return *number;
  lose("bad_argument", Severity::data_loss, "arguments that are no whole number; taken as absent");
  return absent;
}

}  // namespace tandem
