#include "sim/counters/csv_lines.h"

#include <algorithm>

#include "sim/core/error.h"

namespace tandem {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
/// A header of all metrics of a GPU is below 1 MB; a file of other content may have no line end.
constexpr std::size_t most_line_bytes = std::size_t{1} << 24;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Where one field stands in the text without quotes.
struct Extent {
  std::size_t begin;
  std::size_t end;
};

/// Whether a quote is open at the end of `line`, if one `was_open` at its begin.
bool quote_open(std::string_view line, bool was_open) {
  return (std::count(line.begin(), line.end(), '"') % 2 == 1) != was_open;
}

/// Splits `line`; unquoted text goes to `text`. Nothing if a quote is open at the end.
std::optional<std::vector<Extent>> split(std::string_view line, std::string& text) {
  std::vector<Extent> extents;
  text.clear();
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) {
        text.push_back(line[++i]);
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      extents.push_back({begin, text.size()});
      begin = text.size();
    } else {
      text.push_back(c);
    }
  }
  extents.push_back({begin, text.size()});
  if (quoted) return std::nullopt;
  return extents;
}

}  // namespace

CsvLines::CsvLines(const std::string& path) : source_(path) {
  if (refill() && buffer_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
}

void CsvLines::fail(std::string_view found, std::string_view expected) const {
  throw InputError(source_.path(), std::to_string(first_line_), found, expected);
}

bool CsvLines::refill() {
  buffer_.resize(chunk_bytes);
  buffer_.resize(source_.read(buffer_));
  at_ = 0;
  return !buffer_.empty();
}

bool CsvLines::append_line() {
  if (at_ == buffer_.size() && !refill()) return false;
  ++lines_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_);
    line_.append(buffer_, at_, std::min(end, buffer_.size()) - at_);
    if (line_.size() > most_line_bytes) fail("a line of more than 16 MB", "Nsight Compute's CSV");
    at_ = std::min(end, buffer_.size());
    if (end != std::string::npos) {
      ++at_;
      break;
    }
    if (!refill()) break;
  }
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool CsvLines::next() {
  line_.clear();
  first_line_ = lines_ + 1;
  return append_line();
}

const std::vector<std::string_view>& CsvLines::fields() {
  // Each line is looked at once: a field may hold many.
  std::size_t seen = 0;
  for (bool open = false;;) {
    open = quote_open(std::string_view(line_).substr(seen), open);
    if (!open) break;
    seen = line_.size();
    line_.push_back('\n');
    if (!append_line()) fail("the end of the file in a quoted field", "a closing quote");
  }
  const auto extents = split(line_, unquoted_);
  if (!extents) fail("an open quote", "a closing quote");
  fields_.clear();
  for (const Extent& e : *extents) {
    fields_.push_back(std::string_view(unquoted_).substr(e.begin, e.end - e.begin));
  }
  return fields_;
}

}  // namespace tandem
