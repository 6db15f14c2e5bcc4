#include "sim/trace/json/events.h"

#include <simdjson.h>

#include <string>

#include "sim/trace/json/nesting.h"
#include "sim/trace/name_table.h"

namespace tandem {

namespace {

namespace ondemand = simdjson::ondemand;

enum class Key : std::uint8_t { ph, cat, name, ts, dur, pid, tid, args };
constexpr NameTable keys{std::to_array<NameRow<Key>>({{"ph", Key::ph},
                                                      {"cat", Key::cat},
                                                      {"name", Key::name},
                                                      {"ts", Key::ts},
                                                      {"dur", Key::dur},
                                                      {"pid", Key::pid},
                                                      {"tid", Key::tid},
                                                      {"args", Key::args}})};

// simdjson guarantees the closing quote. Keys with escapes match nothing and are passed over.
std::string_view key_of(ondemand::field& field) {
  const char* const key = field.key().raw();
  const char* end = key;
  while (*end != '"') ++end;
  return {key, static_cast<std::size_t>(end - key)};
}

bool is_json_token(std::string_view token) {
  const char c = token.front();
  if (c == '"' || c == '{' || c == '[' || (c >= '0' && c <= '9')) return true;
  if (c == '-') return token.size() > 1 && token[1] >= '0' && token[1] <= '9';
  return token == "true" || token == "false" || token == "null";
}

std::string_view trim_end(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

}  // namespace

struct EventReader::Parser {
  ondemand::parser parser;
  ondemand::document document;
  ondemand::array_iterator at;
  ondemand::array_iterator end;
  EventBatch batch;
  bool in_batch = false;
  const char* event = nullptr;  // where the current event begins
  std::int64_t odd_tokens = 0;

  simdjson::error_code open();
  simdjson::error_code read(const EventFormat& format, TraceEvent& to);
  simdjson::error_code read_args(const EventFormat& format, ondemand::value& args, TraceEvent& to);
  simdjson::error_code token(ondemand::value& value, std::string_view& to);
};

simdjson::error_code EventReader::Parser::open() {
  ondemand::array array;
  simdjson::error_code error =
      parser.iterate(batch.json, batch.size, batch.size + simdjson::SIMDJSON_PADDING).get(document);
  if (!error) error = document.get_array().get(array);
  if (!error) error = array.begin().get(at);
  if (!error) error = array.end().get(end);
  in_batch = !error;
  return error;
}

// A scalar as it stands, an array as text; an object counts as absent.
simdjson::error_code EventReader::Parser::token(ondemand::value& value, std::string_view& to) {
  const std::string_view untrimmed = value.raw_json_token();
  const auto left = static_cast<std::size_t>(batch.json + batch.size - untrimmed.data());
  const std::string_view raw = trim_end(untrimmed.substr(0, left));
  if (raw.empty()) return simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
  to = raw;
  if (raw.front() == '{') to = {};
  if (raw.front() == '[') {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return error;
    if (const auto error = array.raw_json().get(to)) return error;
    to = trim_end(to);
  } else if (!is_json_token(raw)) {
    ++odd_tokens;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code EventReader::Parser::read_args(const EventFormat& format,
                                                    ondemand::value& args, TraceEvent& to) {
  ondemand::object object;
  if (trim_end(args.raw_json_token()) == "null") return simdjson::SUCCESS;
  if (const auto error = args.get_object().get(object)) return error;
  for (auto item : object) {
    if (item.error()) return item.error();
    ondemand::field& field = item.value_unsafe();
    const int slot = format.arg_slot(key_of(field));
    std::string_view ignored;
    std::string_view& place = slot < 0 ? ignored : to.args[static_cast<std::size_t>(slot)];
    if (const auto error = token(field.value(), place)) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code EventReader::Parser::read(const EventFormat& format, TraceEvent& to) {
  ondemand::value value;
  ondemand::object object;
  if (const auto error = (*at).get(value)) return error;
  event = value.raw_json_token().data();
  if (const auto error = value.get_object().get(object)) return error;
  for (auto item : object) {
    if (item.error()) return item.error();
    ondemand::field& field = item.value_unsafe();
    const auto* const key = keys.find(key_of(field));
    if (key != nullptr && key->value == Key::args) {
      if (format.skip_args(to)) continue;
      if (const auto error = read_args(format, field.value(), to)) return error;
      continue;
    }
    std::string_view ignored;
    std::string_view* const places[] = {&to.ph,  &to.cat, &to.name, &to.ts,
                                        &to.dur, &to.pid, &to.tid};
    std::string_view& place =
        key == nullptr ? ignored : *places[static_cast<std::size_t>(key->value)];
    if (const auto error = token(field.value(), place)) return error;
  }
  return simdjson::SUCCESS;
}

static_assert(JsonWindow::padding >= simdjson::SIMDJSON_PADDING);

EventReader::EventReader(JsonSplitter& splitter, const EventFormat& format, LossList& losses)
    : splitter_(splitter), format_(format), losses_(losses), parser_(std::make_unique<Parser>()) {}
EventReader::~EventReader() = default;

std::string EventReader::place() const {
  const Parser& p = *parser_;
  const std::int64_t in_batch = p.event == nullptr ? 0 : p.event - p.batch.json;
  return "byte " + std::to_string(p.batch.offset + in_batch) + " (event " +
         std::to_string(number_) + ")";
}

namespace {

/// What the parser stopped at, in our words.
const char* found_by(simdjson::error_code error) {
  switch (error) {
    case simdjson::TAPE_ERROR: return "an event whose braces, commas or keys do not match";
    case simdjson::DEPTH_ERROR: return "lists and objects nested too deeply";
    case simdjson::STRING_ERROR: return "a text that is not escaped as JSON";
    case simdjson::UNCLOSED_STRING: return "a text without its closing quote";
    case simdjson::UNESCAPED_CHARS: return "a control character inside a text";
    case simdjson::UTF8_ERROR: return "text that is not valid UTF-8";
    case simdjson::NUMBER_ERROR: return "a number that is none of JSON";
    case simdjson::NUMBER_OUT_OF_RANGE: return "a number too large";
    case simdjson::INCORRECT_TYPE: return "a value of another type";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR: return "a word other than true, false and null";
    case simdjson::EMPTY: return "nothing where an event is due";
    case simdjson::TRAILING_CONTENT: return "more behind the end of an event";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT: return "an object or list that does not end";
    default: return "no event in JSON";
  }
}

}  // namespace

void EventReader::fail(const char* found) const {
  throw InputError(splitter_.window().path(), place(), found, "a valid JSON event");
}

// Stage 1 refused the batch as a whole: look for the first event that it refuses alone.
void EventReader::fail_in_batch(const char* found) {
  Parser& p = *parser_;
  NestingScanner scanner;
  const char* const stop = p.batch.json + p.batch.size - 1;
  const char* begin = p.batch.json + 1;
  std::int64_t event_number = number_;
  const auto check = [&](const char* end) {
    ++event_number;
    ondemand::document ignored;
    const auto size = static_cast<std::size_t>(end - begin);
    const bool bad = p.parser.iterate(begin, size, size + simdjson::SIMDJSON_PADDING).get(ignored);
    if (!bad) begin = end + 1;  // past the comma
    return bad;
  };
  bool found_it = false;
  for (const char* at = begin; at < stop && !found_it; at += NestingScanner::block_bytes) {
    found_it = scanner.scan(at, [&](const char* q, std::int64_t depth) {
      return depth < 0 || (depth == 0 && check(q + 1));
    });
  }
  p.event = begin;
  number_ = event_number;
  fail(found);
}

bool EventReader::next(TraceEvent& event) {
  Parser& p = *parser_;
  if (p.in_batch) ++p.at;
  while (!p.in_batch || p.at == p.end) {
    if (!splitter_.next(p.batch, number_)) return false;
    if (const auto error = p.open()) fail_in_batch(found_by(error));
  }
  ++number_;
  event = {};
  const auto error = p.read(format_, event);
  if (error) fail(found_by(error));
  if (p.odd_tokens > 0) {
    losses_.add("non_json_token", Severity::warning,
                "values such as NaN or Infinity, which are no JSON; taken as absent", p.odd_tokens);
    p.odd_tokens = 0;
  }
  return true;
}

}  // namespace tandem
