#include <fmt/format.h>

#include <iterator>

#include "sim/report/csv_text.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

/// A number, or nothing where it is not known.
void append_number(fmt::memory_buffer& out, double value, bool known) {
  if (known) {
    fmt::format_to(std::back_inserter(out), ",{:.6g}", value);
  } else {
    out.push_back(',');
  }
}

void append_launch(fmt::memory_buffer& line, const Trace& trace, std::uint32_t a) {
  const Activities& acts = trace.activities;
  LaunchGeometry g{{0, 0, 0}, {0, 0, 0}, 0, 0};
  if (acts.geometry[a].valid()) g = trace.geometries[acts.geometry[a].index()];
  fmt::format_to(std::back_inserter(line), ",{},{},{},{},{},{},{},{},{},{}",
                 trace.streams[acts.stream[a].index()].stream, g.grid[0], g.grid[1], g.grid[2],
                 g.block[0], g.block[1], g.block[2], g.registers_per_thread, g.shared_bytes,
                 acts.bytes[a]);
}

/// Begin and length in the measured trace; empty for what a scenario adds.
void append_traced(fmt::memory_buffer& line, const Trace& measured, std::uint32_t row) {
  const bool known = row < measured.activities.size();
  if (known) {
    fmt::format_to(std::back_inserter(line), ",{:.3f},{:.3f}",
                   to_us(measured.activities.begin[row]), to_us(measured.activities.duration[row]));
  } else {
    fmt::format_to(std::back_inserter(line), ",,");
  }
}

constexpr std::string_view counter_columns =
    "family,confidence,theoretical_occupancy,achieved_occupancy,waves,bound,bound_law,"
    "smsp_active_utilization,smsp_issue_utilization,tc_active_utilization,tc_issue_utilization,"
    "dram_read_bytes,dram_write_bytes,l2_bytes,l1_bytes,shared_bytes,energy_j,"
    "flops,tflops,mfu,roofline_share,intensity,reason";

void append_counters(fmt::memory_buffer& line, const WorkCounters* c, const GpuScale& gpu,
                     bool kernel) {
  if (c == nullptr) {
    for (const char character : counter_columns) {
      if (character == ',') line.push_back(',');
    }
    line.push_back(',');
    return;
  }
  const KernelUse use = kernel_use(*c, gpu);
  fmt::format_to(std::back_inserter(line), ",{}", to_string(c->family));
  append_number(line, c->confidence, kernel);
  append_number(line, c->theoretical_occupancy, kernel);
  append_number(line, use.achieved_occupancy, kernel);
  append_number(line, c->waves, kernel);
  fmt::format_to(std::back_inserter(line), ",{},{}", kernel ? to_string(use.bound) : "",
                 kernel ? use.bound_law : "");
  for (const double ratio : {use.smsp_active_utilization, use.smsp_issue_utilization,
                             use.tc_active_utilization, use.tc_issue_utilization}) {
    append_number(line, ratio, kernel);
  }
  for (const double bytes :
       {c->dram_read_bytes, c->dram_write_bytes, c->l2_bytes, c->l1_bytes, c->shared_bytes}) {
    append_number(line, bytes, true);
  }
  append_number(line, c->energy_j, c->energy_j > 0);
  const bool flops = kernel && !c->flops_unknown;
  append_number(line, c->flops, flops);
  append_number(line, use.tflops, flops);
  append_number(line, use.mfu, flops && c->peak_tflops > 0);
  append_number(line, use.roofline_share, kernel);
  append_number(line, use.intensity, flops);
  fmt::format_to(std::back_inserter(line), ",{}", kernel ? to_string(use.reason) : "");
}

void write_run(std::ostream& out, const Trace& measured, const GpuScale& gpu,
               const KernelTable& table) {
  const SimulatedRun& run = table.simulated;
  const Activities& acts = run.trace.activities;
  fmt::memory_buffer line;
  for (std::size_t w = 0; w < run.plan.works.size(); ++w) {
    const std::uint32_t a = run.plan.works[w].source;
    line.clear();
    append_quoted(line, run.trace.strings.get(acts.name[a]));
    fmt::format_to(std::back_inserter(line), ",{},{},", table.run, to_string(acts.kind[a]));
    append_quoted(line, table.names.op[a]);
    fmt::format_to(std::back_inserter(line), ",{}", table.names.layer[a]);
    append_launch(line, run.trace, a);
    append_traced(line, measured, table.traced_rows.empty() ? a : table.traced_rows[a]);
    fmt::format_to(std::back_inserter(line), ",{:.3f},{:.3f}", to_us(run.timeline.work_begin[w]),
                   to_us(run.timeline.work_end[w] - run.timeline.work_begin[w]));
    append_counters(line, table.counters.empty() ? nullptr : &table.counters[a], gpu,
                    acts.kind[a] == ActivityKind::kernel);
    line.push_back('\n');
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
}

}  // namespace

void write_kernels_csv(std::ostream& out, const Trace& measured, const GpuScale& gpu,
                       std::span<const KernelTable> runs) {
  out << "name,run,kind,op,layer,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
         "registers_per_thread,shared_memory_bytes,bytes,traced_begin_us,traced_us,simulated_begin_"
         "us,"
         "simulated_us,"
      << counter_columns << '\n';
  for (const KernelTable& table : runs) write_run(out, measured, gpu, table);
}

}  // namespace tandem
