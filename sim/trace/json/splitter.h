// Splits a trace document into batches of whole events and the values beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/json/window.h"

namespace tandem {

/// A JSON array of complete events, framed in place in the window.
struct EventBatch {
  const char* json = nullptr;  // '[' ... ']', with JsonWindow::padding readable bytes behind
  std::size_t size = 0;
  std::int64_t offset = 0;  // of json[0] in the uncompressed stream
};

/// Accepts {"key": value, ..., "traceEvents": [event, ...], ...} with the keys in any order, or a
/// bare array of events. Only the current batch is in memory; values of other keys than `wanted`
/// pass by unread. Throws InputError.
class JsonSplitter {
 public:
  JsonSplitter(JsonWindow& window, std::span<const std::string_view> wanted)
      : window_(window), wanted_(wanted) {}

  /// The next batch, valid until the next call; false at the end of the document. `events_passed`
  /// is how many events the caller has seen, for the text of errors.
  bool next(EventBatch& batch, std::int64_t events_passed);

  /// Raw JSON of the wanted values that came by, as (key, value).
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }
  const JsonWindow& window() const { return window_; }

 private:
  enum class State { start, members, first_event, events, end };

  void open_document();
  void end_document();
  void read_member();
  void read_value(std::string* text);
  void read_scalar(std::string* text);
  void read_nested(std::string* text);
  std::string read_string();
  bool next_batch(EventBatch& batch);
  bool at_event();
  void release_batch();
  void take(const char* end, std::string* text);
  void step() { window_.consume_to(window_.begin() + 1); }
  char peek();
  void expect(char c, const char* expected);
  [[noreturn]] void fail(const char* expected) const;

  JsonWindow& window_;
  std::span<const std::string_view> wanted_;
  std::vector<std::pair<std::string, std::string>> values_;
  State state_ = State::start;
  bool bare_array_ = false;   // the document is [event, ...]
  bool seen_events_ = false;  // traceEvents was there
  bool first_member_ = true;
  std::int64_t events_passed_ = 0;
  std::int64_t value_begin_ = 0;  // where the value or key stands that is being read
  std::size_t values_bytes_ = 0;  // that `values_` takes
  char* batch_end_ = nullptr;     // where the frame byte ']' of the current batch stands
  char batch_end_byte_ = 0;       // what it hides
};

}  // namespace tandem
