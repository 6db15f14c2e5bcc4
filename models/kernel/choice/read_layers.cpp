// The table of measured layers: one line of comma-separated values a pass of a layer. It is the
// largest file that every command reads, and JSON of it takes ten times as long.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "models/kernel/choice/measured_layers.h"
#include "sim/core/bounds/document_size.h"
#include "sim/core/files/input_file.h"

namespace tandem {
namespace {

constexpr std::string_view layer_columns =
    "dimensions,order,pass,images,in_channels,out_channels,groups,side,filter,stride,dilation,"
    "fp32,fp32_us,fp32_turning_us,fp16,fp16_us,fp16_turning_us";

constexpr Named<bool> orders[] = {{false, "nchw"}, {true, "nhwc"}};
constexpr Named<Pass> passes[] = {{Pass::forward, "forward"},
                                  {Pass::input_gradient, "input_gradient"},
                                  {Pass::weight_gradient, "weight_gradient"}};

/// The values of one line, from the left.
class LayerLine {
 public:
  LayerLine(std::string_view line, const std::string& file, std::size_t number)
      : rest_(line), file_(file), place_(fmt::format("line {}", number)) {}

  template <class Table>
  auto choice(const Table& table) {
    return parse_named(table, next(), file_, place_);
  }

  double size() { return size_of(next()); }
  double us(bool zero_too) {
    const std::string_view value = next();
    const auto us = number(value);
    if (us && *us >= 0 && (zero_too || *us > 0)) return *us;
    fail(value, zero_too ? "a number >= 0" : "a number > 0");
  }

  /// A filter of an image: one number where its sides are equal, else FIRSTxLAST.
  std::pair<double, double> sides() {
    const std::string_view value = next();
    const std::size_t by = value.find('x');
    const double first = size_of(value.substr(0, by));
    return {first, by == std::string_view::npos ? first : size_of(value.substr(by + 1))};
  }

  void end() const {
    if (!done_) fail(rest_, "the end of the line after fp16_turning_us");
  }

 private:
  std::string_view next() {
    if (done_) fail("the end of the line", fmt::format("the columns {}", layer_columns));
    const std::size_t comma = rest_.find(',');
    const std::string_view value = rest_.substr(0, comma);
    done_ = comma == std::string_view::npos;
    rest_.remove_prefix(done_ ? rest_.size() : comma + 1);
    return value;
  }

  double size_of(std::string_view value) const {
    const auto size = number(value);
    if (size && *size > 0 && *size == std::floor(*size)) return *size;
    fail(value, "a whole number > 0");
  }

  static std::optional<double> number(std::string_view text) {
    double out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && std::isfinite(out) ? std::optional(out) : std::nullopt;
  }

  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    throw InputError(file_, place_, fmt::format("\"{}\"", found), std::string(expected));
  }

  std::string_view rest_;
  const std::string& file_;
  std::string place_;
  bool done_ = false;
};

LayerTime time_of(LayerLine& line) {
  LayerTime out;
  out.layer_class = line.choice(layer_classes());
  out.us = line.us(false);
  out.turning_us = line.us(true);
  return out;
}

MeasuredLayer layer_of(LayerLine& line) {
  constexpr Named<bool> dimensions[] = {{true, "1"}, {false, "2"}};
  MeasuredLayer out;
  LayerShape& s = out.shape;
  s.line = line.choice(dimensions);
  s.channels_last = line.choice(orders);
  s.pass = line.choice(passes);
  s.images = line.size();
  s.in_channels = line.size();
  s.out_channels = line.size();
  s.groups = line.size();
  const double side = line.size();
  const auto [first, last] = s.line ? std::pair(line.size(), 1.0) : line.sides();
  const double stride = line.size();
  s.pixels = s.line ? side : side * side;
  s.side = std::sqrt(first * last);
  s.aspect = s.line ? 1 : last / first;
  s.stride = s.line ? std::sqrt(stride) : stride;
  s.dilation = line.size();
  out.full = time_of(line);
  out.half = time_of(line);
  line.end();
  return out;
}

}  // namespace

LayerTable load_layer_table(const std::string& path) {
  const std::string expected = "a table of measured layers";
  InputFile file(path, expected);
  const std::string text = read_whole(file, limits::document_bytes, expected);
  std::vector<MeasuredLayer> layers;
  layers.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (number > 1) {
      LayerLine values(line, file.name(), number);
      layers.push_back(layer_of(values));
    } else if (line != layer_columns) {
      throw InputError(file.name(), "line 1", fmt::format("\"{}\"", line.substr(0, 40)),
                       fmt::format("the columns {}", layer_columns));
    }
  }
  if (layers.empty()) throw InputError(file.name(), "line 2", "the end of the file", "a layer");
  return LayerTable(std::move(layers));
}

}  // namespace tandem
