#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/units.h"
#include "sim/counters/number_text.h"
#include "sim/counters/raw_report.h"

namespace tandem {

namespace {

/// A counter of 1e18 would take a GPU years.
constexpr double largest_value = 1e18;

[[noreturn]] void fail(const CounterReport& report, const RawCell& cell, std::string_view found,
                       std::string_view expected) {
  throw InputError(report.path, std::to_string(cell.line),
                   fmt::format("{} for {}", found, metric_names()[cell.metric].metric), expected);
}

/// Decided by the first number that can be read in one format only. Whether 1.234 is one and a bit
/// or a thousand is open without such a number; then a point is taken as the decimal sign.
NumberFormat decide_format(CounterReport& report, const std::vector<RawCell>& cells) {
  std::int64_t open = 0;
  for (const RawCell& cell : cells) {
    const std::string_view text = report.strings.get(cell.value);
    if (const auto format = format_of(text)) return *format;
    open += text.find_first_of(".,") != std::string_view::npos;
  }
  report.losses.add("ambiguous_numbers", Severity::warning,
                    "numbers with one comma or point and three digits behind it, and none that "
                    "tells which of the two is the decimal sign; the point was taken for it",
                    open);
  return NumberFormat::decimal_point;
}

double parse_cell(const CounterReport& report, const RawCell& cell, NumberFormat format) {
  const std::string_view text = report.strings.get(cell.value);
  if (is_absent(text)) return absent;
  const auto number = parse_number(text, format);
  if (!number) {
    fail(report, cell, fmt::format("\"{}\"", text),
         format == NumberFormat::decimal_point
             ? "a number such as 1,234.5 (as before in the file)"
             : "a number such as 1.234,5 (as before in the file)");
  }
  const std::string_view unit = report.strings.get(cell.unit);
  const auto factor = unit_factor(unit, metric_names()[cell.metric].quantity);
  if (!factor) fail(report, cell, fmt::format("the unit \"{}\"", unit), "a unit of time or bytes");
  const double value = *number * *factor;
  if (value < 0 || value > largest_value) {
    fail(report, cell, fmt::format("\"{}\"", text), "a value from 0 to 1e18");
  }
  return value;
}

double scale_of(const CounterReport& report, Scale scale, std::uint32_t row) {
  switch (scale) {
    case Scale::one: return 1;
    case Scale::per_sm: return report.value(Counter::sm_count, row);
    case Scale::per_smsp: return smsps_per_sm * report.value(Counter::sm_count, row);
    case Scale::bytes_to_sectors: return 1 / sector_bytes;
  }
  return absent;
}

bool needs_sm_count(Scale scale) { return scale == Scale::per_sm || scale == Scale::per_smsp; }

/// For each counter and row the value of its best source among `cells`; rows that have one already
/// keep it.
void take_best(CounterReport& report, const std::vector<RawCell>& cells,
               const std::vector<double>& numbers, bool averages) {
  constexpr std::uint32_t none = 0xffffffffU;
  std::array<std::vector<std::uint32_t>, counter_count> source;
  for (auto& column : source) column.assign(report.size(), none);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto [row, rank] = std::pair(cells[i].row, cells[i].metric);
    const MetricName& metric = metric_names()[rank];
    if (needs_sm_count(metric.scale) != averages || std::isnan(numbers[i])) continue;
    const auto c = static_cast<std::size_t>(metric.counter);
    std::uint32_t& known = source[c][row];
    double& value = report.values[c][row];
    const bool settled = known == none && !std::isnan(value);
    if (settled || rank > known) continue;
    known = rank;
    value = numbers[i] * scale_of(report, metric.scale, row);
  }
}

Dimensions dimensions_of(const CounterReport& report, Counter x, Counter total, std::size_t row) {
  const auto at = [&](int axis) {
    return report.value(static_cast<Counter>(static_cast<int>(x) + axis), row);
  };
  const auto fits = [](double v) { return v >= 1 && v <= 0xffffffffU && v == std::floor(v); };
  Dimensions d;
  if (fits(at(0)) && fits(at(1)) && fits(at(2))) {
    for (int i = 0; i < 3; ++i) d.size[i] = static_cast<std::uint32_t>(at(i));
  } else if (fits(report.value(total, row))) {
    d.size[0] = static_cast<std::uint32_t>(report.value(total, row));
  }
  return d;
}

void count_absent(CounterReport& report) {
  std::string missing;
  std::int64_t columns = 0;
  std::int64_t cells = 0;
  for (const CounterInfo& info : counter_infos()) {
    if (info.launch) continue;
    const auto& column = report.values[static_cast<std::size_t>(info.counter)];
    const auto n = std::count_if(column.begin(), column.end(), [](double v) { return v != v; });
    if (static_cast<std::size_t>(n) == column.size()) {
      ++columns;
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", info.name);
    } else {
      cells += n;
    }
  }
  report.losses.add("counter_missing", Severity::warning,
                    "counters that the report does not hold: " + missing, columns);
  report.losses.add("counter_absent", Severity::warning,
                    "single values that are n/a or empty; left out of sums", cells);
}

}  // namespace

std::uint64_t Dimensions::total() const {
  if (only_total()) return size[0];
  return std::uint64_t{size[0]} * size[1] * size[2];
}

void fill_values(CounterReport& report, const std::vector<RawCell>& cells) {
  const NumberFormat format = decide_format(report, cells);
  std::vector<double> numbers;
  numbers.reserve(cells.size());
  for (const RawCell& cell : cells) numbers.push_back(parse_cell(report, cell, format));
  for (auto& column : report.values) column.assign(report.size(), absent);
  take_best(report, cells, numbers, false);
  take_best(report, cells, numbers, true);  // averages, once the number of SMs is known
  for (std::size_t row = 0; row < report.size(); ++row) {
    if (!report.grid[row].known()) {
      report.grid[row] = dimensions_of(report, Counter::grid_x, Counter::grid_size, row);
    }
    if (!report.block[row].known()) {
      report.block[row] = dimensions_of(report, Counter::block_x, Counter::block_size, row);
    }
  }
  count_absent(report);
}

}  // namespace tandem
