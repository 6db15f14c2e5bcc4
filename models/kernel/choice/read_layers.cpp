// The table of measured layers: one line of comma-separated values a pass of a layer. It is the
// largest file that every command reads, and JSON of it takes ten times as long.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernel/choice/measured_layers.h"
#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"
#include "sim/core/text/numbers.h"

namespace tandem {
namespace {

constexpr std::string_view layer_columns[] = {
    "dimensions",   "order",          "pass",    "images",          "in_channels",
    "out_channels", "groups",         "side",    "filter",          "stride",
    "dilation",     "fp32",           "fp32_us", "fp32_turning_us", "fp16",
    "fp16_us",      "fp16_turning_us"};

constexpr Named<bool> orders[] = {{false, "nchw"}, {true, "nhwc"}};
constexpr Named<Pass> passes[] = {{Pass::forward, "forward"},
                                  {Pass::input_gradient, "input_gradient"},
                                  {Pass::weight_gradient, "weight_gradient"}};

/// The values of one line, from the left.
class LayerLine {
 public:
  explicit LayerLine(const CsvRow& row) : row_(row), rest_(row.values()) {}

  template <class Table>
  auto choice(const Table& table) {
    const std::string_view value = next();
    if (const auto* const found = find_named(table, value)) return found->value;
    fail(value, expected_name(name_list(table), value));
  }

  double size() { return size_of(next()); }
  double us(bool zero_too) {
    const std::string_view value = next();
    const auto us = finite_number(value);
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

 private:
  std::string_view next() {
    const std::string_view value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }

  double size_of(std::string_view value) const {
    const auto size = plain_number<std::uint64_t>(value);
    if (size && *size > 0) return static_cast<double>(*size);
    fail(value, "a whole number > 0");
  }

  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    throw InputError(row_.file(), row_.place(), fmt::format("\"{}\"", found),
                     std::string(expected));
  }

  const CsvRow& row_;
  std::span<const std::string_view> rest_;
};

LayerTime time_of(LayerLine& line) {
  LayerTime out;
  out.layer_class = line.choice(layer_classes());
  out.us = line.us(false);
  out.turning_us = line.us(true);
  return out;
}

MeasuredLayer layer_of(const CsvRow& row) {
  constexpr Named<bool> dimensions[] = {{true, "1"}, {false, "2"}};
  LayerLine line(row);
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
  return out;
}

}  // namespace

LayerTable load_layer_table(const std::string& path) {
  const std::vector<CsvRow> rows = read_csv(path);
  if (rows.empty()) throw InputError(path, "line 2", "the end of the file", "a layer");
  const auto columns = rows.front().columns();
  if (!std::equal(columns.begin(), columns.end(), std::begin(layer_columns),
                  std::end(layer_columns))) {
    throw InputError(path, "line 1", fmt::format("the columns {}", fmt::join(columns, ",")),
                     fmt::format("{}", fmt::join(layer_columns, ",")));
  }
  std::vector<MeasuredLayer> layers;
  layers.reserve(rows.size());
  for (const CsvRow& row : rows) layers.push_back(layer_of(row));
  return LayerTable(std::move(layers));
}

}  // namespace tandem
