#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "sim/report/report.h"

namespace tandem {

namespace {

/// RFC 4180: quotes doubled, the field quoted.
void append_quoted(fmt::memory_buffer& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

std::string_view kind_name(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kernel: return "kernel";
    case ActivityKind::memcpy: return "memcpy";
    case ActivityKind::memset: return "memset";
  }
  return "unknown";
}

}  // namespace

void write_kernels_csv(std::ostream& out, const Trace& trace, const Attribution& attribution,
                       const SimulatedRun& measured) {
  out << "name,kind,op,layer,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
         "registers_per_thread,shared_bytes,bytes,traced_begin_us,traced_us,simulated_begin_us,"
         "simulated_us\n";
  const Activities& acts = trace.activities;
  fmt::memory_buffer line;
  for (std::size_t w = 0; w < measured.plan.works.size(); ++w) {
    const std::uint32_t a = measured.plan.works[w].source;
    LaunchGeometry g{{0, 0, 0}, {0, 0, 0}, 0, 0};
    if (acts.geometry[a].valid()) g = trace.geometries[acts.geometry[a].index()];
    line.clear();
    append_quoted(line, trace.strings.get(acts.name[a]));
    fmt::format_to(std::back_inserter(line), ",{},", kind_name(acts.kind[a]));
    append_quoted(line, attribution.op(a));
    fmt::format_to(std::back_inserter(line),
                   ",{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n",
                   attribution.layer(a), trace.streams[acts.stream[a].index()].stream, g.grid[0],
                   g.grid[1], g.grid[2], g.block[0], g.block[1], g.block[2], g.registers_per_thread,
                   g.shared_bytes, acts.bytes[a], to_us(acts.begin[a]), to_us(acts.duration[a]),
                   to_us(measured.timeline.work_begin[w]),
                   to_us(measured.timeline.work_end[w] - measured.timeline.work_begin[w]));
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
}

}  // namespace tandem
