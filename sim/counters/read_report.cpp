#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "sim/core/text/numbers.h"
#include "sim/counters/counter_report.h"
#include "sim/counters/csv_lines.h"
#include "sim/counters/raw_report.h"

namespace tandem {

namespace {

constexpr std::string_view expected_table =
    "the table of 'ncu --csv --page raw' or 'ncu --csv': \"ID\",...,\"Kernel Name\",...";
constexpr std::size_t no_column = static_cast<std::size_t>(-1);
constexpr std::size_t most_shown = 80;

using Fields = std::vector<std::string_view>;

std::size_t column_of(const Fields& header, std::string_view name) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return no_column;
}

std::string quote(std::string_view text) {
  const bool cut = text.size() > most_shown;
  return fmt::format("\"{}{}\"", text.substr(0, most_shown), cut ? "..." : "");
}

/// "(256, 1, 1)".
std::optional<Dimensions> parse_dimensions(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Dimensions d;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d.size[i]);
    if (error != std::errc() || d.size[i] == 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i == 2) break;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(text.starts_with(", ") ? 2 : 1);
  }
  if (!text.empty()) return std::nullopt;
  return d;
}

/// Where the columns stand that both layouts share, and those of the long one.
struct Header {
  std::size_t fields = 0;
  bool quoted = true;
  std::size_t id = no_column, process = no_column, kernel = no_column, device = no_column;
  std::size_t capability = no_column, grid = no_column, block = no_column;
  std::size_t metric = no_column, unit = no_column, value = no_column;
  std::vector<std::pair<std::size_t, std::uint32_t>> metrics;  // wide: column, metric
  bool is_long() const { return metric != no_column; }
};

void check_count(const CsvLines& lines, const Fields& f, const Header& header) {
  if (f.size() == header.fields) return;
  lines.fail(fmt::format("{} fields", f.size()), fmt::format("{} as in the header", header.fields));
}

Dimensions dimensions(const CsvLines& lines, const Fields& f, std::size_t column) {
  if (column == no_column || f[column].empty()) return {};
  const auto d = parse_dimensions(f[column]);
  if (!d) lines.fail(quote(f[column]), "three positive numbers such as (256, 1, 1)");
  return *d;
}

std::int64_t integer(const Fields& f, std::size_t column) {
  return column == no_column ? -1 : plain_number<std::int64_t>(f[column]).value_or(-1);
}

/// "9.0" is 90.
std::int16_t capability(const Fields& f, std::size_t column) {
  constexpr double most = 999;
  const auto version = column == no_column ? std::nullopt : plain_number<double>(f[column]);
  if (!version || !(*version >= 0 && *version <= most)) return -1;
  return static_cast<std::int16_t>(std::lround(*version * 10));
}

class Scanner {
 public:
  explicit Scanner(CounterReport& report) : report_(report), lines_(report.path) {
    for (std::uint32_t i = 0; i < metric_names().size(); ++i) {
      metrics_.emplace(metric_names()[i].metric, i);
    }
  }

  std::vector<RawCell> scan() {
    read_header();
    while (lines_.next()) {
      if (is_log(lines_.text())) continue;
      const Fields& fields = lines_.fields();
      if (is_header(fields)) {  // reports that were written one behind the other
        take_header(fields);
        continue;
      }
      check_count(lines_, fields, header_);
      if (header_.is_long()) {
        read_metric(fields);
      } else {
        read_kernel(fields);
      }
    }
    if (report_.size() == 0) lines_.fail("no kernel", "at least one profiled kernel");
    return std::move(cells_);
  }

 private:
  static bool is_header(const Fields& f) {
    return column_of(f, "Kernel Name") != no_column && column_of(f, "ID") != no_column;
  }

  /// Lines of the profiler and, before a quoted table, of the profiled program.
  bool is_log(std::string_view text) const {
    return text.empty() || text.starts_with("==") || (header_.quoted && !text.starts_with('"'));
  }

  void read_header() {
    std::string first;
    std::string complaint;
    while (lines_.next()) {
      const std::string text(lines_.text());
      if (text.find("Kernel Name") != std::string::npos && is_header(lines_.fields())) {
        take_header(lines_.fields());
        return;
      }
      if (first.empty()) first = text;
      const bool tells_why = text.starts_with("==ERROR==") || text.find("No kernels") != text.npos;
      if (complaint.empty() && tells_why) complaint = text;
    }
    if (!complaint.empty()) lines_.fail(quote(complaint), expected_table);
    if (first.empty()) lines_.fail("an empty file", expected_table);
    lines_.fail("no table; the file begins with " + quote(first), expected_table);
  }

  void take_header(const Fields& f) {
    header_ = Header{.fields = f.size(),
                     .quoted = lines_.text().starts_with('"'),
                     .id = column_of(f, "ID"),
                     .process = column_of(f, "Process ID"),
                     .kernel = column_of(f, "Kernel Name"),
                     .device = column_of(f, "Device"),
                     .capability = column_of(f, "CC"),
                     .grid = column_of(f, "Grid Size"),
                     .block = column_of(f, "Block Size"),
                     .metric = column_of(f, "Metric Name"),
                     .unit = column_of(f, "Metric Unit"),
                     .value = column_of(f, "Metric Value"),
                     .metrics = {}};
    row_open_ = false;
    report_.layout = header_.is_long() ? "details" : "raw";
    if (!header_.is_long()) {
      take_metrics(f);
    } else if (header_.unit == no_column || header_.value == no_column) {
      lines_.fail("no column \"Metric Unit\" or \"Metric Value\"", expected_table);
    }
  }

  /// The metrics of the wide layout and, from the row behind it, their units.
  void take_metrics(const Fields& f) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (i == header_.grid || i == header_.block) continue;
      const auto it = metrics_.find(f[i]);
      if (it != metrics_.end()) header_.metrics.emplace_back(i, it->second);
    }
    if (header_.metrics.empty()) {
      lines_.fail("no known metric", "metrics such as smsp__cycles_elapsed.sum");
    }
    if (!lines_.next()) lines_.fail("the end of the file", "the row of units");
    const Fields& units = lines_.fields();
    check_count(lines_, units, header_);
    if (!units[header_.id].empty() || !units[header_.kernel].empty()) {
      lines_.fail("a kernel", "the row of units that --page raw writes below the header");
    }
    units_.clear();
    for (const auto& [column, metric] : header_.metrics) {
      units_.push_back(report_.strings.intern(units[column]));
    }
  }

  void add_row(const Fields& f) {
    if (f[header_.kernel].empty()) lines_.fail("an empty kernel name", "a kernel name");
    report_.kernel.push_back(report_.strings.intern(f[header_.kernel]));
    report_.id.push_back(integer(f, header_.id));
    report_.process.push_back(integer(f, header_.process));
    report_.device.push_back(integer(f, header_.device));
    report_.capability.push_back(capability(f, header_.capability));
    report_.grid.push_back(dimensions(lines_, f, header_.grid));
    report_.block.push_back(dimensions(lines_, f, header_.block));
  }

  void add_cell(std::uint32_t metric, StringId unit, std::string_view value) {
    cells_.push_back({static_cast<std::uint32_t>(report_.size() - 1), metric,
                      static_cast<std::uint32_t>(lines_.line()), unit,
                      report_.strings.intern(value)});
  }

  void read_kernel(const Fields& f) {
    add_row(f);
    for (std::size_t i = 0; i < header_.metrics.size(); ++i) {
      add_cell(header_.metrics[i].second, units_[i], f[header_.metrics[i].first]);
    }
  }

  /// Rows of one kernel stand together; its number changes with the next one.
  void read_metric(const Fields& f) {
    const std::size_t last = report_.size() - 1;
    const bool same = row_open_ && report_.id[last] == integer(f, header_.id) &&
                      report_.process[last] == integer(f, header_.process) &&
                      report_.strings.get(report_.kernel[last]) == f[header_.kernel];
    if (!same) add_row(f);
    row_open_ = true;
    const auto it = metrics_.find(f[header_.metric]);
    if (it == metrics_.end()) return;  // another metric, or a rule's advice
    add_cell(it->second, report_.strings.intern(f[header_.unit]), f[header_.value]);
  }

  CounterReport& report_;
  CsvLines lines_;
  Header header_;
  bool row_open_ = false;
  std::vector<StringId> units_;  // parallel to header_.metrics
  std::unordered_map<std::string_view, std::uint32_t> metrics_;
  std::vector<RawCell> cells_;
};

/// The most that a counter grows by in a cycle of an SM sub-partition.
struct PerCycle {
  Counter counter;
  double most;
};
constexpr PerCycle per_cycle[] = {
    {Counter::smsp_active_cycles, 1},
    {Counter::smsp_issue_cycles, 1},
    {Counter::tc_active_cycles, 1},
    {Counter::tc_issue_cycles, 1},
    {Counter::instructions, 1},
    {Counter::warp_active_cycles, 16},   // warps that a sub-partition holds
    {Counter::l1_sectors, 4},            // four lines of four sectors that an SM looks up
    {Counter::shared_wavefronts, 0.25},  // one of an SM
};

/// Forgets counters that are negative, or far above what the cycles of the kernel allow.
void drop_impossible(CounterReport& report) {
  const auto column = [&](Counter c) -> std::vector<double>& {
    return report.values[static_cast<std::size_t>(c)];
  };
  const std::vector<double>& elapsed = column(Counter::smsp_elapsed_cycles);
  std::int64_t dropped = 0;
  for (const auto& [counter, most] : per_cycle) {
    std::vector<double>& values = column(counter);
    for (std::size_t row = 0; row < report.size(); ++row) {
      if (!(values[row] < 0 || values[row] > most_excess * most * elapsed[row])) continue;
      values[row] = absent;
      ++dropped;
    }
  }
  count_impossible(dropped, report.losses);
}

}  // namespace

std::vector<RawCell> scan_report(CounterReport& report) { return Scanner(report).scan(); }

void count_impossible(std::int64_t counters, LossList& losses) {
  losses.add("impossible_counters", Severity::data_loss,
             "counters that are negative or more than the kernel can have done in its time; taken "
             "as not measured",
             counters);
}

CounterReport read_counter_report(const std::string& path) {
  CounterReport report;
  report.path = path;
  fill_values(report, scan_report(report));
  drop_impossible(report);
  return report;
}

}  // namespace tandem
