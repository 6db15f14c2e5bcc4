#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "sim/report/csv_text.h"
#include "sim/report/match_report.h"

namespace tandem {

namespace {

using Line = fmt::memory_buffer;

/// What is not known stays empty.
void append_number(Line& line, double value) {
  line.push_back(',');
  if (!std::isnan(value)) fmt::format_to(std::back_inserter(line), "{:.10g}", value);
}

/// The trace states geometry and registers itself.
bool is_column(const CounterInfo& info) {
  return !info.launch ||
         (info.counter >= Counter::shared_driver_bytes && info.counter <= Counter::waves_per_sm);
}

std::string header() {
  std::string text =
      "name,op,layer,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers_per_thread,"
      "shared_bytes,traced_begin_us,traced_us,match,score,report_rows,report_id";
  for (const CounterInfo& info : counter_infos()) {
    if (is_column(info)) text += fmt::format(",{}", info.name);
  }
  return text +
         ",smsp_active_utilization,smsp_issue_utilization,tc_active_utilization,"
         "tc_issue_utilization\n";
}

void append_traced(Line& line, const MatchReport& r, std::uint32_t a) {
  const Activities& acts = r.trace.activities;
  LaunchGeometry g{{0, 0, 0}, {0, 0, 0}, 0, 0};
  if (acts.geometry[a].valid()) g = r.trace.geometries[acts.geometry[a].index()];
  append_quoted(line, r.trace.strings.get(acts.name[a]));
  line.push_back(',');
  append_quoted(line, r.names.op[a]);
  fmt::format_to(std::back_inserter(line), ",{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f}",
                 r.names.layer[a], r.trace.streams[acts.stream[a].index()].stream, g.grid[0],
                 g.grid[1], g.grid[2], g.block[0], g.block[1], g.block[2], g.registers_per_thread,
                 g.shared_bytes, to_us(acts.begin[a]), to_us(acts.duration[a]));
}

void append_counted(Line& line, const MatchReport& r, std::size_t k) {
  const KernelMatch& kernel = r.match.kernels[k];
  const auto rows = r.match.rows.of(k);
  fmt::format_to(std::back_inserter(line), ",{},{:.2f},{},", to_string(kernel.quality),
                 kernel.score, rows.size());
  if (!rows.empty()) fmt::format_to(std::back_inserter(line), "{}", r.counters.id[rows[0]]);
  CounterValues counters = mean_counters(r.counters, rows);
  put_in_order(counters);
  for (const CounterInfo& info : counter_infos()) {
    if (is_column(info)) append_number(line, counters[static_cast<std::size_t>(info.counter)]);
  }
  const Utilization u = utilization_of(counters);
  for (const double v : {u.smsp_active, u.smsp_issue, u.tc_active, u.tc_issue}) {
    append_number(line, v);
  }
}

}  // namespace

void write_match_csv(std::ostream& out, const MatchReport& report) {
  out << header();
  Line line;
  for (std::size_t k = 0; k < report.match.kernels.size(); ++k) {
    line.clear();
    append_traced(line, report, report.match.kernels[k].activity);
    append_counted(line, report, k);
    line.push_back('\n');
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
}

}  // namespace tandem
