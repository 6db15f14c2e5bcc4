// Prints what the kernel model sees of launches, as CSV: input of fit.py and of other analyses.
//   kernel_features TRACE            the kernels of the last step, in launch order
//   kernel_features --launches TSV   launches as ops_launches.py writes them
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "models/kernel/cost_features.h"
#include "models/kernel/cost_work.h"
#include "models/kernel/launch_from_trace.h"
#include "sim/metrics/attribution.h"
#include "sim/trace/import.h"

namespace tandem {
namespace {

constexpr const char* header =
    "key,kind,functor,family,math,data,engine,pass,tile_m,tile_n,tile_k,stages,library,split_k,a_k,"
    "b_k,operands,vector,warps,elements,rows,read_bytes,write_bytes,exact,batch,m,n,k,multiplies,"
    "fragments,loads,steps,tiles,mma_n,blocks,warps_per_block,index_dims,splits,cluster_m,"
    "cluster_n,load_bytes,duration_us\n";

void print_row(const std::string& key, const KernelLaunch& l) {
  const KernelFeatures f = kernel_features(l);
  const KernelTraits& t = l.traits;
  const MatrixProblem& p = l.work.matrix;
  fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", key, kind_name(t),
             functor_name(t), to_string(l.family), int(l.math), int(t.data), int(t.engine),
             int(t.pass), t.tile_m, t.tile_n, t.tile_k, t.stages, int(t.library_gemm),
             int(t.split_k), int(t.a_k_major), int(t.b_k_major), t.operands, t.vector_width);
  fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", f.warps,
             f.elements, l.work.rows, l.work.read_bytes, l.work.write_bytes, int(l.work.exact),
             p.batch, p.m, p.n, p.k, f.multiplies, f.fragments, f.loads, f.steps, f.tiles, f.mma_n,
             blocks_of(l.geometry), warps_per_block(l.geometry), l.work.index_dims, f.splits,
             t.cluster_m, t.cluster_n, t.load_bytes, l.duration_us);
}

void print_trace(const std::string& path) {
  const Trace trace = import_trace(path);
  const Links links = link_trace(trace);
  const CallOps ops = ops_of_calls(trace);
  const TraceLaunches launches(trace, links, ops.innermost);
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
    const OpTensors tensors = parse_tensors(cells[3], cells[4], cells[5]);
    const auto arguments = parse_arguments(cells[6]);
    KernelLaunch l;
    l.name = cells[1];
    l.op = cells[2];
    const KernelClass c = classify(l.name, l.op);
    l.family = c.family;
    l.math = c.math;
    l.traits = c.traits;
    l.geometry = read_geometry(cells[7]);
    l.work = kernel_work(c, OpContext{l.op, tensors, arguments, l.geometry});
    l.duration_us = std::stod(cells[8]);
    print_row(cells[0], l);
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  const bool launches = argc == 3 && std::string(argv[1]) == "--launches";
  if (argc != 2 && !launches) {
    std::fputs("usage: kernel_features TRACE | --launches TSV\n", stderr);
    return 2;
  }
  std::fputs(tandem::header, stdout);
  launches ? tandem::print_launches(argv[2]) : tandem::print_trace(argv[1]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "kernel_features: %s\n", e.what());
  return 2;
}
