// Prints what the kernel model sees of launches, as CSV: input of fit.py and of other analyses.
//   kernel_features TRACE            the kernels of the last step, in launch order
//   kernel_features TRACE COUNTERS   the step that a report of Nsight Compute profiled, with
//   counters kernel_features --launches TSV   launches as ops_launches.py writes them
#include "models/kernel/work/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "models/kernel/classify/classify.h"
#include "models/kernel/work/work.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "sim/counters/match.h"
#include "sim/counters/utilization.h"
#include "sim/trace/import.h"
#include "sim/trace/importers/kineto/operands.h"

namespace tandem {
namespace {

constexpr const char* header =
    "key,kind,functor,family,math,data,engine,pass,tile_m,tile_n,tile_k,stages,library,split_k,a_k,"
    "b_k,operands,vector,warps,elements,rows,read_bytes,write_bytes,exact,batch,m,n,k,multiplies,"
    "fragments,loads,steps,tiles,mma_n,blocks,warps_per_block,index_dims,splits,cluster_m,"
    "cluster_n,load_bytes,indexed,transposed,narrow,busy,taps,l1_read_bytes,duration_us,walked,"
    "converted,passed,rows_worked,dropped,masked,compared,fused";

// What a generated kernel fuses, by the keys of the cost constants.
std::vector<std::string_view> fused_names(const KernelTraits& traits) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < fused_rows().size(); ++i) {
    if (traits.fused >> i & 1) out.push_back(fused_rows()[i].name);
  }
  return out;
}

void print_row(const std::string& key, const KernelLaunch& l) {
  const KernelFeatures f = kernel_features(l);
  const KernelTraits& t = l.traits;
  const MatrixProblem& p = l.work.matrix;
  const KernelWork& w = l.work;
  const double numbers[] = {double(l.math),
                            double(t.data),
                            double(t.engine),
                            double(t.pass),
                            double(t.tile_m),
                            double(t.tile_n),
                            double(t.tile_k),
                            double(t.stages),
                            double(t.library_gemm),
                            double(t.split_k),
                            double(t.a_k_major),
                            double(t.b_k_major),
                            double(w.operands),
                            double(t.vector_width),
                            f.warps,
                            f.elements,
                            w.rows,
                            w.read_bytes,
                            w.write_bytes,
                            double(w.exact),
                            double(p.batch),
                            double(p.m),
                            double(p.n),
                            double(p.k),
                            f.multiplies,
                            f.fragments,
                            f.loads,
                            f.steps,
                            f.tiles,
                            f.mma_n,
                            double(blocks_of(l.geometry)),
                            double(warps_per_block(l.geometry)),
                            double(w.index_dims),
                            double(f.splits),
                            double(t.cluster_m),
                            double(t.cluster_n),
                            double(t.load_bytes),
                            f.indexed,
                            f.transposed,
                            f.narrow,
                            f.busy,
                            f.taps,
                            w.l1_read_bytes,
                            l.duration_us,
                            f.walked,
                            f.converted,
                            f.passed,
                            f.rows,
                            f.dropped,
                            f.masked,
                            f.compared};
  fmt::print("{},{},{},{},{},{}", key, kind_name(t), functor_of(t).name, to_string(l.family),
             fmt::join(numbers, ","), fmt::join(fused_names(t), "+"));
}

void print_trace(const std::string& path) {
  const Trace trace = import_trace(path);
  const Links links = link_trace(trace);
  const OpNesting ops = nest_ops(trace, links);
  const TraceLaunches launches(trace, links, ops.of_call);
  const StepWindow& step = links.steps.back();
  std::vector<std::pair<TimePoint, std::uint32_t>> rows;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row || trace.activities.kind[a] != ActivityKind::kernel) continue;
    const TimePoint begin = trace.calls.begin[call];
    if (begin >= step.begin && begin < step.end) rows.emplace_back(begin, a);
  }
  std::stable_sort(rows.begin(), rows.end());
  for (const auto& [time, a] : rows) {
    print_row(std::to_string(trace.activities.correlation[a]), launches.launch(a));
    fmt::print("\n");
  }
}

constexpr std::pair<const char*, Counter> counters[] = {
    {"smsp__inst_executed", Counter::instructions},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared", Counter::shared_wavefronts},
    {"sm__inst_executed_pipe_tensor", Counter::tc_issue_cycles},
    {"l1tex__t_sectors", Counter::l1_sectors},
    {"lts__t_sectors_srcunit_tex", Counter::l2_tex_sectors}};

void print_counters(const CounterValues& values) {
  for (const auto& [name, counter] : counters) {
    fmt::print(",{}", values[static_cast<std::size_t>(counter)]);
  }
}

void print_capture(const std::string& path, const std::string& report_path) {
  const Trace trace = import_trace(path);
  const Links links = link_trace(trace);
  const OpNesting ops = nest_ops(trace, links);
  const TraceLaunches launches(trace, links, ops.of_call);
  const CounterReport report = read_counter_report(report_path);
  const StepMatch match = match_best_step(trace, links, report);
  for (std::size_t i = 0; i < match.kernels.size(); ++i) {
    const auto rows = match.rows.of(i);
    if (rows.empty()) continue;
    print_row(std::to_string(i), launches.launch(match.kernels[i].activity));
    print_counters(mean_counters(report, rows));
    fmt::print("\n");
  }
}

LaunchGeometry read_geometry(const std::string& text) {
  LaunchGeometry g;
  std::istringstream in(text);
  for (auto* list : {&g.grid, &g.block}) {
    for (auto& value : *list) in >> value;
  }
  in >> g.registers_per_thread >> g.shared_bytes;
  return g;
}

// key, kernel, op, dims, types, strides, arguments, "grid block registers shared", duration
void print_launches(const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, '\t');) cells.push_back(cell);
    if (cells.size() < 9) throw InputError(path, line.substr(0, 40), "too few cells", "9 cells");
    const Operands operands = kineto::parse_operands({cells[3], cells[4], cells[5], cells[6]});
    KernelLaunch l;
    l.name = cells[1];
    l.op = cells[2];
    const KernelClass c = with_operand_type(classify(l.name, l.op), operands.tensors.shapes);
    l.family = c.family;
    l.math = c.math;
    l.traits = c.traits;
    l.geometry = read_geometry(cells[7]);
    l.work = kernel_work(c, OpContext{l.op, operands.tensors, operands.arguments, l.geometry});
    l.duration_us = std::stod(cells[8]);
    print_row(cells[0], l);
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  const std::string first = argc > 1 ? argv[1] : "";
  if (argc < 2 || argc > 3) {
    std::fputs("usage: kernel_features TRACE [COUNTERS] | --launches TSV\n", stderr);
    return 2;
  }
  std::fputs(tandem::header, stdout);
  const bool capture = argc == 3 && first != "--launches";
  if (capture) {
    for (const auto& [name, counter] : tandem::counters) fmt::print(",{}", name);
  }
  fmt::print("\n");
  if (capture) {
    tandem::print_capture(first, argv[2]);
  } else if (argc == 3) {
    tandem::print_launches(argv[2]);
  } else {
    tandem::print_trace(first);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "kernel_features: %s\n", e.what());
  return 2;
}
