#include "sim/trace/json/splitter.h"

#include <algorithm>
#include <cstring>

#include "sim/core/bounds/trace_size.h"
#include "sim/core/error.h"
#include "sim/trace/json/nesting.h"

namespace tandem {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string quoted(char c) {
  constexpr char hex[] = "0123456789abcdef";
  if (c >= ' ' && c <= '~') return std::string("'") + c + "'";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("byte 0x") + hex[byte >> 4] + hex[byte & 15];
}

}  // namespace

void JsonSplitter::fail(const char* expected) const {
  const bool at_end = window_.begin() == window_.end();
  std::string place = "byte " + std::to_string(window_.offset(window_.begin()));
  if (events_passed_ > 0) place += " (after event " + std::to_string(events_passed_) + ")";
  throw InputError(window_.path(), place, at_end ? "the end of the file" : quoted(*window_.begin()),
                   expected);
}

// The next character that is no white space, not consumed; 0 at the end of the stream.
char JsonSplitter::peek() {
  const std::int64_t begin = window_.offset(window_.begin());
  do {
    char* const at = std::find_if_not(window_.begin(), window_.end(), is_space);
    window_.consume_to(at);
    if (at != window_.end()) return *at;
    if (window_.offset(at) - begin > static_cast<std::int64_t>(limits::element_bytes)) {
      throw InputError(window_.path(), "byte " + std::to_string(begin), "more than 8 MiB of blanks",
                       "JSON, or the end of the file");
    }
  } while (window_.fill());
  return 0;
}

void JsonSplitter::expect(char c, const char* expected) {
  if (peek() != c) fail(expected);
  step();
}

bool JsonSplitter::next(EventBatch& batch, std::int64_t events_passed) {
  events_passed_ = events_passed;
  release_batch();
  while (state_ != State::end) {
    switch (state_) {
      case State::start: open_document(); break;
      case State::members: read_member(); break;
      case State::first_event:
      case State::events:
        if (next_batch(batch)) return true;
        break;
      case State::end: break;
    }
  }
  return false;
}

void JsonSplitter::open_document() {
  while (window_.view().size() < byte_order_mark.size() && window_.fill()) {
  }
  if (window_.view().starts_with(byte_order_mark)) {
    window_.consume_to(window_.begin() + byte_order_mark.size());
  }
  bare_array_ = seen_events_ = peek() == '[';
  if (!bare_array_ && peek() != '{') fail("'{' or '[' of a JSON trace");
  step();
  state_ = bare_array_ ? State::first_event : State::members;
}

void JsonSplitter::end_document() {
  if (!seen_events_) fail("\"traceEvents\" in the top-level object");
  step();
  if (peek(); window_.begin() != window_.end()) fail("nothing after the end of the trace");
  state_ = State::end;
}

void JsonSplitter::read_member() {
  if (peek() == '}') return end_document();
  if (!first_member_) expect(',', "',' or '}' after a value");
  first_member_ = false;
  if (peek() != '"') fail("'\"' of a key");
  value_begin_ = window_.offset(window_.begin());
  const std::string key = read_string();
  expect(':', "':' after a key");
  if (key == "\"traceEvents\"") {
    expect('[', "'[': traceEvents must be an array");
    seen_events_ = true;
    state_ = State::first_event;
    return;
  }
  const auto bare = std::string_view(key).substr(1, key.size() - 2);
  const bool wanted = std::find(wanted_.begin(), wanted_.end(), bare) != wanted_.end();
  if (wanted) values_.emplace_back(bare, std::string());
  read_value(wanted ? &values_.back().second : nullptr);
  if (!wanted) return;
  values_bytes_ += sizeof(values_.back()) + key.size() + values_.back().second.size();
  if (values_bytes_ > limits::element_bytes) fail("values beside the events of 8 MiB together");
}

// Reads a value to its end. It is kept in `text`; without `text` it passes by.
void JsonSplitter::read_value(std::string* text) {
  const char first = peek();
  value_begin_ = window_.offset(window_.begin());
  if (first == '{' || first == '[') return read_nested(text);
  if (first != '"') return read_scalar(text);
  std::string string = read_string();
  if (text != nullptr) text->swap(string);
}

void JsonSplitter::take(const char* end, std::string* text) {
  if (text != nullptr) {
    text->append(std::string_view(window_.begin(), end));
    if (text->size() > JsonWindow::limit) fail("a value shorter than 8 MiB");
  }
  window_.consume_to(end);
  if (window_.offset(end) - value_begin_ > static_cast<std::int64_t>(limits::skipped_bytes)) {
    fail("a value shorter than 1 GiB");
  }
}

// Reads a string, from quote to quote, as it stands.
std::string JsonSplitter::read_string() {
  std::string text;
  for (bool escaped = false;;) {
    if (window_.begin() == window_.end() && !window_.fill()) {
      fail("the rest of a string (the file is truncated)");
    }
    const char c = *window_.begin();
    take(window_.begin() + 1, &text);
    if (c == '"' && !escaped && text.size() > 1) return text;
    escaped = c == '\\' && !escaped;
  }
}

void JsonSplitter::read_scalar(std::string* text) {
  const auto ends = [](char c) { return c == ',' || c == '}' || c == ']' || is_space(c); };
  if (window_.begin() == window_.end() || ends(*window_.begin())) fail("a value");
  do {
    const char* const end = std::find_if(window_.begin(), window_.end(), ends);
    take(end, text);
  } while (window_.begin() == window_.end() && window_.fill());
}

void JsonSplitter::read_nested(std::string* text) {
  NestingScanner scanner;
  const char* end = nullptr;
  const auto at_bottom = [&](const char* p, std::int64_t) { return (end = p + 1) != nullptr; };
  for (bool more = true;; more = window_.fill()) {
    // Whole blocks only, until no more bytes follow: the scanner cannot resume within a block.
    const std::size_t size = window_.view().size();
    const std::size_t ready = more ? size - size % NestingScanner::block_bytes : size;
    for (std::size_t at = 0; at < ready && end == nullptr; at += NestingScanner::block_bytes) {
      scanner.scan(window_.begin() + at, at_bottom);
    }
    take(end != nullptr ? end : window_.begin() + ready, text);
    if (end != nullptr) return;
    if (!more) fail("the rest of a value (the file is truncated)");
  }
}

// Stands on the next event, or has passed the end of the array.
bool JsonSplitter::at_event() {
  if (peek() == ']') {
    if (bare_array_) {
      end_document();
    } else {
      step();
      state_ = State::members;
    }
    return false;
  }
  if (state_ == State::events) expect(',', "',' or ']' after an event");
  if (peek() != '{') fail("'{' of an event");
  state_ = State::events;
  return true;
}

bool JsonSplitter::next_batch(EventBatch& batch) {
  if (!at_event()) return false;
  NestingScanner scanner;
  std::size_t end = 0;  // behind the last whole event, from the begin of the window
  std::size_t at = 0;
  bool closed = false;
  for (bool more = true; end == 0; more = window_.fill()) {
    const std::size_t size = window_.view().size();
    const std::size_t ready = more ? size - size % NestingScanner::block_bytes : size;
    const auto at_bottom = [&](const char* p, std::int64_t depth) {
      if (depth == 0) end = static_cast<std::size_t>(p + 1 - window_.begin());
      return depth < 0;
    };
    for (; at < ready && !closed; at += NestingScanner::block_bytes) {
      closed = scanner.scan(window_.begin() + at, at_bottom);
    }
    if (end == 0 && !more) {
      window_.consume_to(window_.end());
      fail("the rest of an event (the file is truncated)");
    }
  }
  window_.begin()[-1] = '[';
  batch_end_ = window_.begin() + end;
  batch_end_byte_ = std::exchange(*batch_end_, ']');
  batch = {window_.begin() - 1, end + 2, window_.offset(window_.begin()) - 1};
  return true;
}

void JsonSplitter::release_batch() {
  if (batch_end_ == nullptr) return;
  *batch_end_ = batch_end_byte_;
  window_.consume_to(batch_end_);
  batch_end_ = nullptr;
}

}  // namespace tandem
