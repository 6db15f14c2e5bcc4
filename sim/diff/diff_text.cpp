#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/diff/diff_report.h"

namespace tandem {

namespace {

constexpr std::size_t most_rows = 12;
constexpr std::size_t most_one_sided = 6;

std::string ms(Duration d) { return fmt::format("{:.3f}", to_us(d) * 1e-3); }
std::string signed_ms(Duration d) { return fmt::format("{:+.3f}", to_us(d) * 1e-3); }

std::string short_name(std::string_view name, std::size_t width) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.size() <= width) return std::string(name);
  return std::string(name.substr(0, width - 3)) + "...";
}

std::string counts(const DiffRow& row) {
  if (row.count_a == 0 && row.count_b == 0) return {};
  if (row.count_a == row.count_b) return fmt::format("   {} x", row.count_a);
  return fmt::format("   {} -> {} x", row.count_a, row.count_b);
}

/// What would be printed as zero says nothing.
bool is_nothing(Duration d) { return std::abs(to_us(d)) < 0.5; }

std::string rows_text(std::string_view title, const DiffTable& table, bool split) {
  std::vector<const DiffRow*> rows;
  for (const DiffRow& row : table.rows) {
    if (!is_nothing(row.change())) rows.push_back(&row);
  }
  if (rows.empty()) return {};
  std::string text = fmt::format("\n{:<44} {:>10} {:>10} {:>10} ms\n", title, "A", "B", "B - A");
  Duration shown{};
  for (std::size_t i = 0; i < std::min(most_rows, rows.size()); ++i) {
    const DiffRow& row = *rows[i];
    shown += row.change();
    text += fmt::format("  {:<42} {:>10} {:>10} {:>10}{}", short_name(row.name, 42), ms(row.a),
                        ms(row.b), signed_ms(row.change()), counts(row));
    const Duration host = row.change() - row.on_device;
    if (split && !is_nothing(host)) {
      text += fmt::format("   GPU {}, host {}", signed_ms(row.on_device), signed_ms(host));
    }
    text += '\n';
  }
  if (rows.size() > most_rows) {
    text += fmt::format("  {:<42} {:>10} {:>10} {:>10}\n",
                        fmt::format("... and {} more", rows.size() - most_rows), "", "",
                        signed_ms(table.change - shown));
  }
  return text;
}

std::string headline(const Diff& d) {
  std::string text;
  for (const auto& [side, path, scenario, time] :
       {std::tuple{"A", d.path_a, d.scenario_a, d.a}, {"B", d.path_b, d.scenario_b, d.b}}) {
    text += fmt::format("{:<10} {}\n           {}: step {} ms\n", side, path, scenario, ms(time));
  }
  text += fmt::format("B - A      {} ms", signed_ms(d.change()));
  if (d.a > Duration{} && d.b > Duration{}) {
    text += fmt::format(" = {:+.1f} %, a step {:.2f} times as fast",
                        100 * to_us(d.change()) / to_us(d.a), to_us(d.a) / to_us(d.b));
  }
  return text + fmt::format(
                    "\nattributed {:.1f} %, {} ms are left over; {:.1f} % of what changed "
                    "names an operation or a kernel\n",
                    100 * d.attributed_share, signed_ms(d.remainder), 100 * d.named_share);
}

/// Operations that only one of the two has.
std::string one_sided_text(const DiffTable& table, bool of_b) {
  const std::vector<DiffRow>& rows = table.rows;
  if (rows.empty()) return {};
  const Duration sum = of_b ? table.change : -table.change;
  std::string text =
      fmt::format("only {}     {} operations, {} ms:", of_b ? "B" : "A", rows.size(), ms(sum));
  for (std::size_t i = 0; i < std::min(most_one_sided, rows.size()); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", short_name(rows[i].name, 40),
                        ms(of_b ? rows[i].b : rows[i].a));
  }
  return text + (rows.size() > most_one_sided ? ", ...\n" : "\n");
}

}  // namespace

std::string_view describe(PathKind kind) {
  switch (kind) {
    case PathKind::host: return "host: operations and Python";
    case PathKind::call: return "host: launch calls and other calls";
    case PathKind::work: return "GPU: kernels and copies";
    case PathKind::launch_latency: return "queue: launches on their way";
    case PathKind::device_gap: return "queue: gaps between kernels";
    case PathKind::stream_wait: return "queue: waits for another stream";
    case PathKind::queue_full: return "queue: full, the host waits for room";
    case PathKind::host_return: return "host: returns from waiting for the GPU";
  }
  return "unknown";
}

DiffTable named(const std::vector<DiffKind>& kinds, std::string_view (*name)(PathKind)) {
  DiffTable table;
  for (const DiffKind& one : kinds) {
    table.rows.push_back(one.row);
    table.rows.back().name = name(one.kind);
    table.change += one.row.change();
  }
  return table;
}

std::string diff_text(const Diff& d) {
  std::string text = headline(d);
  text += one_sided_text(d.only_a, false) + one_sided_text(d.only_b, true);
  text += rows_text("what a step waits for (critical path)", named(d.kinds, describe), false);
  text += rows_text("... by type of layer", d.layers, false);
  text += rows_text("... by operation", d.ops, true);
  text += rows_text("... by kernel", d.kernels, false);
  text += rows_text("device time, waited for or not, by layer", d.device.layers, false);
  return printable(std::move(text));
}

}  // namespace tandem
