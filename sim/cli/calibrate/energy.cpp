#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/energy/recording.h"
#include "sim/cli/arguments.h"
#include "sim/cli/calibrate/calibrate.h"
#include "sim/cli/files.h"
#include "sim/core/text/csv_rows.h"
#include "sim/counters/counter_report.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// Where the profiler counts the accesses of a kernel.
struct Counted {
  const char* kernel;
  Counter counter;
  double sectors;  // a count
};
constexpr Counted counted_kernels[] = {
    {"shared_load", Counter::shared_wavefronts, 4},
    {"shared_store", Counter::shared_wavefronts, 4},
    {"l1_load", Counter::l1_sectors, 1},
    {"l2_load", Counter::l2_tex_sectors, 1},
    {"l2_near_load", Counter::l2_tex_sectors, 1},
    {"l2_stream", Counter::l2_tex_sectors, 1},
    {"l2_store", Counter::l2_tex_sectors, 1},
    {"dram_load", Counter::dram_read_sectors, 1},
    {"dram_stream", Counter::dram_read_sectors, 1},
    {"dram_store", Counter::dram_write_sectors, 1},
};

/// Of counters.csv against counted_points.csv, the best of a kernel's launches: the first ones find
/// cold caches. Empty without a report.
Disagreements disagreements(const std::string& folder) {
  Disagreements out;
  const std::string path = folder + "/counters.csv";
  if (!std::filesystem::exists(path)) return out;
  const CounterReport report = read_counter_report(path);
  const std::vector<CsvRow> stated = read_csv(folder + "/counted_points.csv");
  for (std::size_t i = 0; i < std::min(stated.size(), report.size()); ++i) {
    for (const Counted& c : counted_kernels) {
      if (stated[i].text("kernel") != c.kernel) continue;
      const double sectors = report.value(c.counter, i) * c.sectors;
      const double off = std::abs(sectors / stated[i].number("sectors") - 1);
      if (std::isnan(off)) continue;
      const auto [it, added] = out.try_emplace(c.kernel, off);
      if (!added) it->second = std::min(it->second, off);
    }
  }
  return out;
}

void print_phases(const EnergyRecording& r) {
  if (!r.phases) return;
  const PowerPhases& p = *r.phases;
  fmt::print(
      "phases: sleep {:.1f} W, idle from {:.2f} s {:.1f} W, kernels from {:.2f} s {:.1f} W, ",
      p.sleep_w, p.t1, p.idle_w, p.t2, p.active_w);
  fmt::print("idle from {:.2f} s {:.1f} W\n", p.t3, p.idle_after_w);
}

void print_access(const MeasuredAccess& m) {
  const AccessCalibration& c = m.access;
  fmt::print("{:14} {:9.4g} +- {:<8.3g} pJ/{:7}", c.kernel, c.bound_pj.value, c.bound_pj.ci95,
             m.unit);
  if (c.line.points > 3) {
    fmt::print(" line {:.4g} +- {:.2g} pJ, offset {:.3g} J, r2 {:.4f}", c.line.slope * 1e12,
               c.line.slope_ci95 * 1e12, c.line.intercept, c.line.r2);
  }
  if (m.counted_off) fmt::print(" counters agree ({:.2f} %)", 100 * *m.counted_off);
  fmt::print("\n  blocks x threads: pJ");
  for (const ThreadPoint& p : c.curve) {
    fmt::print("  {:.0f}x{:.0f}: {:.4g}", p.blocks, p.threads, p.pj.value);
  }
  fmt::print("\n");
}

void print_recording(const EnergyRecording& r) {
  fmt::print("== {}\n", r.folder);
  print_phases(r);
  fmt::print(
      "idle {:.1f} +- {:.1f} W; active SM {:.3f} +- {:.3f} W, r2 {:.4f}; asleep {:.1f} W\n\n",
      r.idle.value, r.idle.ci95, r.active_sm.slope, r.active_sm.slope_ci95, r.active_sm.r2,
      r.asleep.value);
  for (const MeasuredAccess& m : r.accesses) print_access(m);
  if (r.l1_divide)
    fmt::print("division (L1)  {:9.4g} +- {:.2g} pJ\n", r.l1_divide->value, r.l1_divide->ci95);
  if (r.l2_divide)
    fmt::print("division (L2)  {:9.4g} +- {:.2g} pJ\n", r.l2_divide->value, r.l2_divide->ci95);
  for (const DroppedPoint& d : r.dropped) {
    fmt::print("dropped: {}{}: {}\n", d.kernel,
               d.line == 0 ? std::string() : fmt::format(", line {}", d.line), d.reason);
  }
}

void print_checks(const EnergyRecording& r, const std::string& path, const std::string& gpu) {
  if (!std::filesystem::exists(path)) return;
  for (const PowerCheck& c : power_checks(r, path, gpu)) {
    fmt::print(
        "check {:10} {:.0f} W measured elsewhere, {:.0f} W from dram_stream and ffma: {:+.1f} %\n",
        c.point, c.measured_w, c.predicted_w, 100 * (c.predicted_w / c.measured_w - 1));
  }
}

/// The GPU's config with the new constants of data movement.
void write_config(const AccessEnergies& access, const GpuCatalogue& gpus, const GpuArch& gpu,
                  const std::string& out) {
  EnergyConfig config = find_energy(load_energies(gpus), gpu);
  config.access = access;
  const std::string text = with_energy(gpus.folder + "/" + gpu.name + ".json", config);
  write_file(out, [&](std::ostream& file) { file << text; });
  fmt::print("GPU config with these energy constants {}\n", out);
}

}  // namespace

CommandLine calibrate_energy_line() {
  po::options_description options("Options");
  options.add_options()("recording",
                        po::value<std::vector<std::string>>()->value_name(folder_value),
                        "folder that bench/device/energy filled")("gpu", text_value(gpu_value),
                                                                  "GPU config that was recorded")(
      "out", text_value(file_value), "write the GPU's config with the new constants here");
  return {"calibrate energy",
          "RECORDING_DIR... --gpu NAME",
          "Energy of each kind of access, from recordings.",
          {{"recording", -1}},
          {options}};
}

int calibrate_energy(const Arguments& arguments) {
  const auto parsed = parse_arguments(calibrate_energy_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  const std::string name = values["gpu"].as<std::string>(), out = values["out"].as<std::string>();
  if (values.count("recording") == 0 || name.empty()) {
    throw InputError("command line", "calibrate energy", name.empty() ? "no --gpu" : "no folder",
                     "tandem calibrate energy RECORDING_DIR... --gpu NAME");
  }
  const std::string root = data_root();
  const GpuCatalogue gpus = load_catalogue(root + "/configs/gpus");
  const GpuArch& gpu = find_gpu(gpus, name);
  std::vector<EnergyRecording> recordings;
  for (const std::string& folder : values["recording"].as<std::vector<std::string>>()) {
    recordings.push_back(evaluate_recording(folder, gpu.sm_count, disagreements(folder)));
    print_recording(recordings.back());
    print_checks(recordings.back(), root + "/validation/claims/public_power.csv", name);
  }
  const AccessEnergies access = access_energies(
      recordings, fmt::format("bench/device/energy on {} board(s), tandem calibrate energy",
                              recordings.size()));
  fmt::print(
      "\nconstants (95 %): shared {:.4g} +- {:.0f} %, L1 {:.4g} +- {:.0f} %, "
      "L2 {:.4g} +- {:.0f} %, DRAM {:.4g} +- {:.0f} % pJ/sector, idle {:.4g} W\n",
      access.shared_pj_per_sector, 196 * access.origins[0].uncertainty, access.l1_pj_per_sector,
      196 * access.origins[1].uncertainty, access.l2_pj_per_sector,
      196 * access.origins[2].uncertainty, access.dram_pj_per_sector,
      196 * access.origins[3].uncertainty, access.static_w);
  if (!out.empty()) write_config(access, gpus, gpu, out);
  return exit_ok;
}

}  // namespace tandem
