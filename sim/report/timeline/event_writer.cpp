#include "sim/report/timeline/event_writer.h"

#include <iterator>

namespace tandem {

namespace {

template <class Out>
void append_json_text(Out out, std::string_view s) {
  *out++ = '"';
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      *out++ = '\\';
      *out++ = c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out = fmt::format_to(out, "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      *out++ = c;
    }
  }
  *out++ = '"';
}

}  // namespace

void EventArgs::key(std::string_view key) {
  json_.push_back(json_.empty() ? '{' : ',');
  append_json_text(std::back_inserter(json_), key);
  json_.push_back(':');
}

EventArgs& EventArgs::text(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  key(name);
  append_json_text(std::back_inserter(json_), value);
  return *this;
}

EventArgs& EventArgs::number(std::string_view name, double value) {
  if (!std::isfinite(value)) return *this;
  key(name);
  fmt::format_to(std::back_inserter(json_), "{:.4g}", value);
  return *this;
}

EventArgs& EventArgs::size(std::string_view name, const std::array<std::uint32_t, 3>& value) {
  key(name);
  fmt::format_to(std::back_inserter(json_), "[{},{},{}]", value[0], value[1], value[2]);
  return *this;
}

EventWriter::EventWriter(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":[\n"; }

EventWriter::~EventWriter() {
  flush();
  out_ << "\n],\"displayTimeUnit\":\"ms\"}\n";
}

std::int64_t EventWriter::ns(TimePoint time) const {
  constexpr std::int64_t ps_per_ns = 1000;
  const std::int64_t ps = (time - origin_).count();
  return (ps + ps_per_ns / 2) / ps_per_ns;  // rounded alike, what nests and touches still does
}

void EventWriter::name_process(int pid, std::string_view name) {
  name_track("process_name", pid, 0, name);
}

Track EventWriter::add_track(int pid, std::string_view name) {
  const Track track{pid, next_tid_++};
  name_track("thread_name", track.pid, track.tid, name);
  return track;
}

void EventWriter::slice(const Track& track, std::string_view category, std::string_view name,
                        const FileSpan& span, std::string_view args) {
  open('X', track.pid, track.tid, name);
  fmt::format_to(std::back_inserter(buffer_), R"(,"cat":"{}")", category);
  time("ts", span.begin_ns);
  time("dur", span.end_ns - span.begin_ns);
  if (!args.empty()) fmt::format_to(std::back_inserter(buffer_), R"(,"args":{})", args);
  buffer_.push_back('}');
}

void EventWriter::instant(const Track& track, std::string_view category, std::string_view name,
                          std::int64_t at_ns) {
  open('i', track.pid, track.tid, name);
  fmt::format_to(std::back_inserter(buffer_), R"(,"cat":"{}","s":"t")", category);
  time("ts", at_ns);
  buffer_.push_back('}');
}

void EventWriter::counter(int pid, std::string_view name, TimePoint at, std::int64_t value) {
  open('C', pid, 0, name);
  time("ts", ns(at));
  fmt::format_to(std::back_inserter(buffer_), R"(,"args":{{"value":{}}}}})", value);
}

void EventWriter::flow_out(const Track& track, std::int64_t at_ns, std::uint64_t id) {
  open('s', track.pid, track.tid, "launch");
  time("ts", at_ns);
  fmt::format_to(std::back_inserter(buffer_), R"(,"cat":"launch","id":{}}})", id);
}

void EventWriter::flow_in(const Track& track, std::int64_t at_ns, std::uint64_t id) {
  open('f', track.pid, track.tid, "launch");
  time("ts", at_ns);
  fmt::format_to(std::back_inserter(buffer_), R"(,"cat":"launch","id":{},"bp":"e"}})", id);
}

void EventWriter::open(char phase, int pid, int tid, std::string_view name) {
  if (!first_) fmt::format_to(std::back_inserter(buffer_), ",\n");
  first_ = false;
  if (buffer_.size() > 1U << 20U) flush();
  fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"{}","pid":{},)", phase, pid);
  if (tid != 0) fmt::format_to(std::back_inserter(buffer_), R"("tid":{},)", tid);
  fmt::format_to(std::back_inserter(buffer_), R"("name":)");
  append_json_text(std::back_inserter(buffer_), name);
}

// Perfetto reads microseconds as a binary fraction; some of its versions then round to nanoseconds,
// others cut off, which would make slices overlap that touch. The fourth digit, a tenth of a
// nanosecond, makes both see the same.
void EventWriter::time(std::string_view key, std::int64_t ns) {
  fmt::format_to(std::back_inserter(buffer_), R"(,"{}":{}.{:03}1)", key, ns / 1000, ns % 1000);
}

void EventWriter::name_track(std::string_view what, int pid, int tid, std::string_view name) {
  open('M', pid, tid, what);
  fmt::format_to(std::back_inserter(buffer_), R"(,"args":{{"name":)");
  append_json_text(std::back_inserter(buffer_), name);
  fmt::format_to(std::back_inserter(buffer_), "}}}}");
}

void EventWriter::flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

}  // namespace tandem
