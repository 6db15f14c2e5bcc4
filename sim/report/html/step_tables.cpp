#include "sim/core/text/texts.h"
#include "sim/report/html/result_sections.h"

namespace tandem::html {

namespace {

const TableColumn time_column{"time", "us", "device time of one step"};
const TableColumn count_column{"count", "count", "pieces of device work in one step"};
const TableColumn share_column{"share", "ratio", "of the device time of one step"};
const TableColumn energy_column{"energy", "J", "dynamic: above the idle board"};

/// What kernels use of the GPU while they run.
void add_metrics(const GpuMetrics& m, std::vector<TableCell>& row) {
  row.insert(row.end(), {m.smsp_active_utilization, m.smsp_issue_utilization,
                         m.tc_active_utilization, m.drama, m.dram_read_bytes + m.dram_write_bytes});
}
const std::vector<TableColumn> metric_columns{
    {"SMSP active", "ratio", "cycles in which a sub-partition of an SM holds a warp"},
    {"issue slots", "ratio", "cycles in which an instruction is issued"},
    {"tensor cores", "ratio", "cycles in which the tensor pipe is active"},
    {"DRAM active", "ratio", "of the time that the DRAM interface moves data"},
    {"DRAM traffic", "B", "read and written in one step"}};

std::vector<TableColumn> joined(std::vector<TableColumn> a, const std::vector<TableColumn>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Table kernel_table(const Result& result) {
  Table table{"Kernels", {{"kernel"}, {"family"}, count_column, time_column, share_column}, {}};
  table.columns = joined(std::move(table.columns), metric_columns);
  table.columns.push_back({"occupancy", "ratio", "resident warps of what SMs can hold"});
  table.columns.push_back({"waves", "count", "grid / blocks that the GPU holds at once"});
  table.columns.push_back({"bound", "", "what limits it: compute, memory, latency or launch"});
  table.columns.push_back(energy_column);
  for (const TimeShare& k : result.kernels) {
    std::vector<TableCell> row{std::string(without_void(k.name)), std::monostate{}, double(k.count),
                               k.time_us, k.share};
    if (k.levels) {
      row[1] = std::string(to_string(k.levels->family));
      add_metrics(k.levels->metrics, row);
      row.insert(row.end(), {k.levels->achieved_occupancy, k.levels->waves,
                             std::string(to_string(k.levels->bound))});
    } else {
      row.resize(table.columns.size() - 1);
    }
    row.emplace_back(k.energy_j > 0 ? k.energy_j : page_unknown);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Of operations and of types of layer.
Table share_table(const std::string& title, const std::string& what,
                  const std::vector<TimeShare>& shares, bool levels) {
  Table table{title, {{what}, count_column, time_column, share_column}, {}};
  if (levels) table.columns = joined(std::move(table.columns), metric_columns);
  table.columns.push_back(energy_column);
  for (const TimeShare& s : shares) {
    std::vector<TableCell> row{s.name, double(s.count), s.time_us, s.share};
    if (levels && s.levels) add_metrics(s.levels->metrics, row);
    row.resize(table.columns.size() - 1);
    row.emplace_back(s.energy_j > 0 ? s.energy_j : page_unknown);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table family_table(const Result& result) {
  Table table{"Families of kernels", {{"family"}, count_column, time_column, share_column}, {}};
  table.columns = joined(std::move(table.columns), metric_columns);
  table.columns.push_back(energy_column);
  table.columns.push_back({"model", "", "whether a model of its own prices the family"});
  for (const FamilyShare& f : result.families) {
    std::vector<TableCell> row{std::string(to_string(f.family)), double(f.count), f.time_us,
                               f.share};
    add_metrics(f.metrics, row);
    row.emplace_back(f.energy_j > 0 ? f.energy_j : page_unknown);
    row.emplace_back(f.modelled ? "own" : "generic guess");
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool has_levels(const std::vector<TimeShare>& shares) {
  for (const TimeShare& s : shares) {
    if (s.levels) return true;
  }
  return false;
}

}  // namespace

std::vector<Block> step_tables(const Result& r) {
  std::vector<Block> blocks;
  if (!r.kernels.empty()) blocks.emplace_back(kernel_table(r));
  if (!r.ops.empty()) {
    blocks.emplace_back(share_table("Operations", "operation", r.ops, has_levels(r.ops)));
  }
  if (!r.layers.empty()) {
    blocks.emplace_back(share_table("Layers by type", "layer", r.layers, has_levels(r.layers)));
  }
  if (!r.families.empty()) blocks.emplace_back(family_table(r));
  return blocks;
}

}  // namespace tandem::html
