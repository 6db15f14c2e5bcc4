// Large traces for benchmarks of ingest: the events of a measured trace, repeated.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/source/byte_source.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::bench {

/// A trace of ours to repeat; empty if the measured data are not there.
inline std::string measured_trace() {
  const std::filesystem::path path =
      std::filesystem::path(source_dir()) /
      "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";
  return std::filesystem::exists(path) ? path.string() : std::string();
}

/// The uncompressed content of a trace file.
inline std::string read_content(const std::string& path) {
  ByteSource source(path);
  std::string content;
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t n = piece; n == piece;) {
    const std::size_t size = content.size();
    content.resize(size + piece);
    n = source.read({content.data() + size, piece});
    content.resize(size + n);
  }
  return content;
}

/// Operations with their calls and kernels, written as Kineto writes them.
inline std::string synthetic_content() {
  const std::string pattern = R"(
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 451, "tid": 451,
    "ts": 4362395@.125, "dur": 14.750,
    "args": {
      "External id": @,"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[4096, 1], [4096, 1], []], "Input Dims": [[32, 4096], [32, 4096], []], "Ev Idx": @
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 451, "tid": 451,
    "ts": 4362395@.625, "dur": 5.250,
    "args": {
      "External id": @, "cbid": 211, "correlation": @
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "void vectorized_elementwise_kernel<4, AddFunctor<float>, array<char*, 3ul> >", "pid": 0, "tid": 7,
    "ts": 4362395@.875, "dur": 2.432,
    "args": {
      "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": @,
      "registers per thread": 32, "shared memory": 0,
      "blocks per SM": 0.969697, "warps per SM": 3.878788,
      "grid": [128, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 6
    }
  })";
  std::string events;
  for (int i = 100'000; i < 102'000; ++i) {  // six digits each, in place of @
    for (const char c : pattern) c == '@' ? events += std::to_string(i) : events += c;
    if (i + 1 < 102'000) events += ',';
  }
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "\n]}";
}

/// A measured trace that goes on: its events again and again, later each time, with correlation ids
/// and numbers of steps of their own.
class RepeatedTrace {
 public:
  explicit RepeatedTrace(std::string content) : content_(std::move(content)) {
    const std::size_t list = content_.find('[', content_.find("\"traceEvents\"")) + 1;
    std::size_t at = list;
    while ((at = content_.find('{', at)) != std::string::npos) at = add_event(at);
    head_ = std::string_view(content_).substr(0, list);
    tail_ = std::string_view(content_).substr(content_.rfind(']'));
    period_us_ = last_us_ - first_us_ + 1000;
  }

  struct Size {
    std::int64_t events = 0;
    std::int64_t bytes = 0;
  };
  /// Writes at least `events` events. As PyTorch does, those of operations all come first.
  Size write(std::int64_t events, std::FILE* out) const {
    const auto each = static_cast<std::int64_t>(events_);
    const std::int64_t rounds = (events + each - 1) / each;
    std::string text(head_);
    std::string_view comma;
    Size size{rounds * each, 0};
    const auto flush = [&] {
      if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) {
        throw std::runtime_error("cannot write the trace");
      }
      size.bytes += static_cast<std::int64_t>(text.size());
      text.clear();
    };
    for (const std::vector<Piece>* pieces : {&operations_, &others_}) {
      for (std::int64_t round = 0; round < rounds && !pieces->empty(); ++round) {
        text += std::exchange(comma, ",");
        for (const Piece& piece : *pieces) append(piece, round, text);
        if (text.size() >= flush_bytes) flush();
      }
    }
    text += tail_;
    flush();
    if (std::fflush(out) != 0) throw std::runtime_error("cannot write the trace");
    return size;
  }

 private:
  static constexpr std::size_t flush_bytes = std::size_t{1} << 20;
  enum class Shift : std::uint8_t { none, time, id, step };
  /// Text as it stands, and the number behind it that differs from round to round.
  struct Piece {
    std::string_view text;
    Shift shift = Shift::none;
    std::int64_t number = 0;
  };

  /// Takes the event that begins at `begin` apart; returns where it ends.
  std::size_t add_event(std::size_t begin) {
    std::size_t end = begin;
    bool in_text = false;
    for (int depth = 0;; ++end) {
      const char c = content_.at(end);
      if (in_text && c == '\\') ++end;
      if (c == '"') in_text = !in_text;
      if (in_text) continue;
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) break;
    }
    const std::string_view event = std::string_view(content_).substr(begin, end + 1 - begin);
    const bool operation = event.find("\"cpu_op\"") != std::string_view::npos ||
                           event.find("\"user_annotation\"") != std::string_view::npos;
    std::vector<Piece>& to = operation ? operations_ : others_;
    if (!to.empty()) to.push_back({",\n", Shift::none, 0});
    add_pieces(event, to);
    ++events_;
    return end + 1;
  }

  void add_pieces(std::string_view event, std::vector<Piece>& to) {
    constexpr std::pair<std::string_view, Shift> keys[] = {
        {"\"ts\": ", Shift::time},
        {"\"correlation\": ", Shift::id},
        {"\"External id\": ", Shift::id},
        {"\"name\": \"ProfilerStep#", Shift::step},
    };
    while (true) {
      std::size_t at = std::string_view::npos;
      Shift shift = Shift::none;
      for (const auto& [key, kind] : keys) {
        const std::size_t found = event.find(key);
        if (found == std::string_view::npos || found + key.size() >= at) continue;
        at = found + key.size();
        shift = kind;
      }
      if (shift == Shift::none) break;
      std::int64_t number = 0;
      const char* const from = event.data() + at;
      const char* const behind = std::from_chars(from, event.data() + event.size(), number).ptr;
      note(shift, number);
      to.push_back({event.substr(0, at), shift, number});
      event.remove_prefix(static_cast<std::size_t>(behind - event.data()));
    }
    to.push_back({event, Shift::none, 0});
  }

  void note(Shift shift, std::int64_t number) {
    if (shift == Shift::id) ids_ = std::max(ids_, number + 1);
    if (shift == Shift::step) steps_ = std::max(steps_, number + 1);
    if (shift != Shift::time) return;
    first_us_ = std::min(first_us_, number);
    last_us_ = std::max(last_us_, number);
  }

  void append(const Piece& piece, std::int64_t round, std::string& text) const {
    text += piece.text;
    if (piece.shift == Shift::none) return;
    const std::int64_t period = piece.shift == Shift::time ? period_us_
                                : piece.shift == Shift::id ? ids_
                                                           : steps_;
    std::array<char, 24> digits;
    const std::int64_t number = piece.number + round * period;
    text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
  }

  std::string content_;
  std::string_view head_, tail_;
  std::vector<Piece> operations_, others_;
  std::size_t events_ = 0;
  std::int64_t first_us_ = INT64_MAX, last_us_ = 0, period_us_ = 0;
  std::int64_t ids_ = 0, steps_ = 0;
};

}  // namespace tandem::bench
