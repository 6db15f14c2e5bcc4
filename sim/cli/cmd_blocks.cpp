// tandem blocks: where and when the blocks of one kernel run.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "models/arch/occupancy.h"
#include "models/kernel/counters/cost_model.h"
#include "sim/cli/files.h"
#include "sim/cli/scenario_options.h"
#include "sim/core/text/numbers.h"
#include "sim/predict/predict.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

constexpr std::size_t most_of_name = 80;

/// A position in the step, or the longest kernel whose name holds the text. Row of activities.
std::uint32_t find_kernel(const Step& step, const std::string& wanted) {
  const std::vector<DeviceWork>& works = step.plan.works;
  if (const auto position = plain_number<std::size_t>(wanted)) {
    if (*position < works.size()) return works[*position].source;
    throw InputError("command line", "--kernel", wanted,
                     "a position in the step, 0 to " + std::to_string(works.size() - 1));
  }
  std::uint32_t best = no_index;
  for (const DeviceWork& work : works) {
    const Activities& acts = step.trace.activities;
    if (acts.kind[work.source] != ActivityKind::kernel) continue;
    if (step.trace.strings.get(acts.name[work.source]).find(wanted) == std::string_view::npos) {
      continue;
    }
    if (best == no_index || acts.duration[work.source] > acts.duration[best]) best = work.source;
  }
  if (best == no_index) {
    throw InputError("command line", "--kernel", "\"" + wanted + "\"",
                     "part of the name of a kernel of the step, or its position");
  }
  return best;
}

void print_summary(const std::string& name, const LaunchGeometry& g, const GpuArch& gpu,
                   const BlockSchedule& s) {
  fmt::print("kernel     {}\n", printable(name.substr(0, 100)));
  fmt::print("launch     grid {} x {} x {}, block {} x {} x {}, {} registers, {} B shared\n",
             g.grid[0], g.grid[1], g.grid[2], g.block[0], g.block[1], g.block[2],
             g.registers_per_thread, g.shared_bytes);
  fmt::print("occupancy  {} blocks an SM, {:.1f} % of the warps, limited by {}\n",
             s.occupancy.blocks_per_sm, 100 * s.occupancy.theoretical, limiter_names(s.occupancy));
  fmt::print("waves      {:.2f} on {} SMs: {} whole, {} blocks in the last\n", s.waves.count,
             gpu.sm_count, s.waves.full, s.waves.tail_blocks);
  fmt::print("time       {:.2f} us, a block lives {:.2f} us\n", s.duration_us, s.block_us);
  fmt::print("use        SMs active {:.1f} %, SMSPs active {:.1f} %, achieved occupancy {:.1f} %\n",
             100 * s.sm_active_share, 100 * s.smsp_active_share, 100 * s.achieved_occupancy);
}

/// The same kernel in kernels.csv, whose cycles include Nsight Compute's window around it.
void print_counters(const GpuArch& gpu, const BlockSchedule& s, const WorkCounters& counters,
                    double window_cycles) {
  const KernelUse use = kernel_use(counters, gpu_scale(gpu));
  const double cycles = s.duration_us * gpu.boost_clock_mhz;
  fmt::print(
      "counters   SMSPs active {:.1f} % with the profiler's window; kernels.csv {:.1f} %, "
      "achieved occupancy {:.1f} %\n",
      100 * s.smsp_active_share * cycles / (cycles + window_cycles),
      100 * use.smsp_active_utilization, 100 * use.achieved_occupancy);
}

void write_blocks(const std::string& path, const std::string& kernel, const BlockSchedule& s) {
  if (path.empty()) return;
  std::vector<BlockSlice> slices;
  for (const BlockRun& b : s.blocks) {
    slices.push_back({b.block, b.sm, b.slot, b.begin_us, b.end_us});
  }
  write_file(path, [&](std::ostream& file) { write_block_timeline(file, kernel, slices); });
  if (path == "-") return;
  fmt::print("timeline   {}  (open in https://ui.perfetto.dev)\n", path);
}

/// The schedule of an activity of the step, with the pace that its counters assume.
/// Errors: InputError for a kernel that the GPU cannot hold.
BlockSchedule schedule_of(const Prediction& p, const CostConstants& costs, std::uint32_t row,
                          const std::string& trace, const std::string& kernel) {
  const TraceLaunches launches(p.step);
  const KernelLaunch launch = launches.launch(row);
  const LaunchGeometry& g = launch.geometry;
  if (occupancy(*p.target, g).blocks_per_sm == 0) {
    throw InputError(
        trace, kernel.substr(0, most_of_name),
        fmt::format("a block of {} threads, {} registers each and {} B of shared memory, "
                    "which no SM of {} holds",
                    std::uint64_t{g.block[0]} * g.block[1] * g.block[2], g.registers_per_thread,
                    g.shared_bytes, p.target->display_name),
        "a kernel that the GPU can run");
  }
  return schedule_blocks(*p.target, launch.geometry, launch.duration_us,
                         block_pace(*p.target, launch, costs));
}

}  // namespace

CommandLine blocks_line() {
  po::options_description trace("Trace"), kernel("Kernel"), output("Output");
  trace.add_options()("trace", po::value<std::string>()->value_name(file_value), trace_doc);
  add_trace_options(trace);
  kernel.add_options()(
      "kernel", po::value<std::string>()->value_name("NAME"),
      "part of a kernel's name (the longest one is taken), or its position in the step")(
      "gpu", text_value(gpu_value), "GPU to run it on; default: the traced")(
      "set", texts_value("gpu.KEY=VALUE"), "override a GPU number, e.g. gpu.sm_count=160");
  output.add_options()("out", text_value(file_value),
                       "write a Perfetto timeline with a track per block slot of every SM here");
  add_loss_option(output);
  return {"blocks",
          "TRACE --kernel NAME [options]",
          "Where and when the blocks of one kernel run: occupancy, waves, tail.",
          {{"trace"}},
          {trace, kernel, output}};
}

int run_blocks(const Arguments& arguments) {
  const auto parsed = parse_arguments(blocks_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  if (values.count("trace") == 0 || values.count("kernel") == 0) {
    throw InputError("command line", "blocks",
                     values.count("trace") == 0 ? "no TRACE" : "no --kernel",
                     "tandem blocks TRACE --kernel NAME");
  }
  ReplayOptions replay_options;
  replay_options.configs = data_root() + "/configs";
  read_trace_options(values, replay_options);
  replay_options.what_ifs.set("gpu", values["gpu"].as<std::string>());
  for (const std::string& one : values["set"].as<std::vector<std::string>>()) {
    replay_options.what_ifs.add("set", one);
  }
  const TracedRun a = analyse(import_trace(values["trace"].as<std::string>()), replay_options);
  const Prediction p = predict(a, replay_options);
  if (!p.target) {
    throw InputError(a.summary.path, "device", "a GPU without config",
                     "--traced-gpu NAME beside it");
  }
  const std::uint32_t row = find_kernel(p.step, values["kernel"].as<std::string>());
  const Activities& acts = p.step.trace.activities;
  const std::string name(p.step.trace.strings.get(acts.name[row]));
  if (!acts.geometry[row].valid()) {
    throw InputError(a.summary.path, name.substr(0, most_of_name), "no launch geometry",
                     "a kernel whose grid and block the trace states");
  }
  const LaunchGeometry& geometry = p.step.trace.geometries[acts.geometry[row].index()];
  const BlockSchedule s = schedule_of(p, a.configs.costs, row, a.summary.path, name);
  const std::string out = values["out"].as<std::string>();
  if (out != "-") {
    print_summary(name, geometry, *p.target, s);
    print_counters(*p.target, s, p.step_counters[row],
                   a.configs.costs.general().counter_window_cycles);
  }
  write_blocks(out, name, s);
  return loss_status(p.result.losses.any(Severity::data_loss), accepts_loss(values),
                     a.summary.path);
}

}  // namespace tandem
