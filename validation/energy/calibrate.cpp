// Energy per access from recordings of bench/device/energy.
//   energy_calibrate --data DIR [--data DIR ...] --gpu NAME [--configs DIR]
//     [--checks public_power.csv] [--write]
// DIR holds samples.csv, points.csv and, where the profiler ran, counters.csv and
// counted_points.csv. Prints phases, energy per access by threads with 95 % intervals, lower bounds
// and cross-checks. --write puts the lower bounds, the mean over the recordings, into the GPU's
// file of configs/energy; recordings of several boards show how much boards differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "models/arch/gpu_config.h"
#include "models/energy/calibration.h"
#include "models/energy/csv_rows.h"
#include "models/energy/energy_config.h"
#include "sim/counters/counter_report.h"

namespace tandem {
namespace {

struct Options {
  std::vector<std::string> data;
  std::string gpu, configs = "configs", checks = "validation/energy/public_power.csv";
  bool write = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    std::string* text = key == "--gpu"       ? &o.gpu
                        : key == "--checks"  ? &o.checks
                        : key == "--configs" ? &o.configs
                                             : nullptr;
    if (key == "--write") {
      o.write = true;
    } else if (key == "--data" && i + 1 < argc) {
      o.data.emplace_back(argv[++i]);
    } else if (text != nullptr && i + 1 < argc) {
      *text = argv[++i];
    } else {
      throw InputError("command line", key, "an unknown option or no value",
                       "--data DIR, --gpu NAME, --configs DIR, --checks FILE, --write");
    }
  }
  return o;
}

/// A kernel of the kit: what its work is called and where the profiler counts it.
struct Row {
  const char* kernel;
  double CalibrationPoint::*work;
  const char* unit;
  Counter counter;  // must agree with the stated work
  double per_count;
};

constexpr double agreement = 0.02;  // between counted and stated work
using P = CalibrationPoint;
constexpr Row rows[] = {
    {"shared_load", &P::sectors, "sector", Counter::shared_wavefronts, 4},
    {"l1_load", &P::sectors, "sector", Counter::l1_sectors, 1},
    {"l2_load", &P::sectors, "sector", Counter::l2_tex_sectors, 1},
    {"dram_load", &P::sectors, "sector", Counter::dram_read_sectors, 1},
    {"l2_near_load", &P::sectors, "sector", Counter::l2_tex_sectors, 1},
    {"l2_stream", &P::sectors, "sector", Counter::l2_tex_sectors, 1},
    {"dram_stream", &P::sectors, "sector", Counter::dram_read_sectors, 1},
    {"shared_store", &P::sectors, "sector", Counter::shared_wavefronts, 4},
    {"l2_store", &P::sectors, "sector", Counter::l2_tex_sectors, 1},
    {"dram_store", &P::sectors, "sector", Counter::dram_write_sectors, 1},
    {"ffma", &P::flop, "FLOP", Counter::duration_ns, 0},
    {"ffma_zero", &P::flop, "FLOP", Counter::duration_ns, 0},
    {"mma_fp16", &P::flop, "FLOP", Counter::duration_ns, 0},
    {"mma_fp16_zero", &P::flop, "FLOP", Counter::duration_ns, 0},
    {"mma_tf32", &P::flop, "FLOP", Counter::duration_ns, 0},
};

/// Share by which the counted work of the kernel's points differs from the stated; NaN: unknown.
double disagreement(const Row& row, const std::string& folder) {
  const std::string report_path = folder + "/counters.csv",
                    stated_path = folder + "/counted_points.csv";
  double worst = std::nan("");
  if (row.per_count == 0 || !std::filesystem::exists(report_path)) return worst;
  const CounterReport report = read_counter_report(report_path);
  const std::vector<CsvRow> stated = read_csv(stated_path);
  for (std::size_t i = 0; i < std::min(stated.size(), report.size()); ++i) {
    if (stated[i].text("kernel") != row.kernel) continue;
    const double counted = report.value(row.counter, i);
    const double off = std::abs(counted * row.per_count / stated[i].number("sectors") - 1);
    worst = std::isnan(worst) ? off : std::min(worst, off);
  }
  return worst;
}

void print_phases(const std::vector<PowerSample>& samples, const std::string& folder) {
  const std::string path = folder + "/phases.csv";
  if (!std::filesystem::exists(path)) return;
  const std::vector<CsvRow> marks = read_csv(path);
  const double end = marks.back().number("time_s");
  std::vector<PowerSample> part;
  for (const PowerSample& s : samples) {
    if (s.time_s <= end) part.push_back(s);
  }
  const auto p = find_phases(part);
  if (!p) return;
  fmt::print("phases found  t1 {:.2f} s  t2 {:.2f}  t3 {:.2f}  t4 {:.2f}\nphases marked", p->t1,
             p->t2, p->t3, p->t4);
  for (const CsvRow& m : marks) fmt::print("  {} {:.2f}", m.text("mark"), m.number("time_s"));
  fmt::print("\nsleep {:.1f} W, idle {:.1f} W, running {:.1f} W, idle again {:.1f} W\n\n",
             p->sleep_w, p->idle_w, p->active_w, p->idle_after_w);
}

void print_access(const Row& row, const AccessCalibration& c, double off) {
  fmt::print("{:14} {:9.4g} +- {:.3g} pJ/{}", row.kernel, c.bound_pj.value, c.bound_pj.ci95,
             row.unit);
  if (c.line.points > 3) {
    fmt::print("   line {:.4g} +- {:.2g} pJ, offset {:.3g} J, r2 {:.4f}", c.line.slope * 1e12,
               c.line.slope_ci95 * 1e12, c.line.intercept, c.line.r2);
  }
  if (!std::isnan(off)) {
    fmt::print("   counters {}",
               off <= agreement ? "agree" : fmt::format("OFF by {:.0f} %: drop", 100 * off));
  }
  fmt::print("\n   ");
  for (const ThreadPoint& p : c.curve) {
    fmt::print(" {}x{}: {:.4g}", p.blocks, p.threads, p.pj.value);
  }
  fmt::print("\n");
}

/// Power that others measured at a known DRAM and FP32 rate, against the energies found here.
void print_checks(const Options& o, const Estimate& idle, const Estimate& stream,
                  const Estimate& ffma) {
  for (const CsvRow& row : read_csv(o.checks)) {
    if (row.text("gpu") != o.gpu) continue;
    const double watt = idle.value + row.number("dram_gbps") * 1e9 / 32 * stream.value * 1e-12 +
                        row.number("tflops") * ffma.value;
    const double measured = row.number("power_w");
    fmt::print(
        "check {:10} {:.0f} W measured elsewhere, {:.0f} W from dram_stream and ffma: {:+.1f} %\n",
        row.text("point"), measured, watt, 100 * (watt / measured - 1));
  }
}

/// What one recording says: idle power, then the lower bounds in the order of AccessEnergies.
struct Recording {
  Estimate idle;
  std::vector<Estimate> bounds;
};

constexpr std::size_t levels = 4;
/// Standard deviation between boards where only one was recorded: that of two H200 boards, at most.
constexpr double unknown_board_sd = 0.12;

/// Mean over boards. Its relative standard deviation joins the intervals and how boards differ.
std::pair<double, double> over_boards(const std::vector<Recording>& recordings, std::size_t level) {
  double mean = 0, variance = 0, interval = 0;
  const auto n = static_cast<double>(recordings.size());
  for (const Recording& r : recordings) {
    mean += r.bounds.at(level).value / n;
    interval = std::max(interval, r.bounds[level].ci95 / 1.96);
  }
  for (const Recording& r : recordings) {
    variance += std::pow(r.bounds[level].value - mean, 2) / std::max(1.0, n - 1);
  }
  const double boards = recordings.size() > 1 ? std::sqrt(variance) : unknown_board_sd * mean;
  return {mean, std::hypot(interval, boards) / mean};
}

void write_access(const Options& o, const std::vector<Recording>& recordings) {
  const std::string path = o.configs + "/energy/" + o.gpu + ".json";
  EnergyConfig config = load_energy(path);
  double AccessEnergies::*const members[levels] = {
      &AccessEnergies::shared_pj_per_sector, &AccessEnergies::l1_pj_per_sector,
      &AccessEnergies::l2_pj_per_sector, &AccessEnergies::dram_pj_per_sector};
  const std::string source =
      fmt::format("bench/device/energy on {} board(s), energy_calibrate", recordings.size());
  const auto round = [](double v) { return std::stod(fmt::format("{:.3g}", v)); };
  for (std::size_t i = 0; i < levels; ++i) {
    const auto [value, sd] = over_boards(recordings, i);
    config.access.*members[i] = round(value);
    config.access.origins[i] = {ValueKind::measured, source, "", round(sd)};
  }
  double idle = 0;
  for (const Recording& r : recordings)
    idle += r.idle.value / static_cast<double>(recordings.size());
  config.access.static_w = round(idle);
  config.access.origins.back() = {ValueKind::measured, source, "", 0.02};
  std::ofstream(path, std::ios::binary) << to_json(config);
}

Recording evaluate(const Options& o, const std::string& folder, const GpuArch& gpu) {
  const std::vector<PowerSample> samples = read_power_log(folder + "/samples.csv");
  const std::vector<CalibrationPoint> points = read_points(folder + "/points.csv", samples);
  fmt::print("== {}\n", folder);
  print_phases(samples, folder);
  Recording out{mean_power(points, "idle"), {}};
  const Line sm = active_sm_power(points, gpu.sm_count);
  fmt::print("idle {:.1f} +- {:.1f} W; busy SM {:.3f} +- {:.3f} W, r2 {:.4f}; asleep {:.1f} W\n\n",
             out.idle.value, out.idle.ci95, sm.slope, sm.slope_ci95, sm.r2,
             mean_power(points, "asleep").value);
  Estimate stream, ffma;
  for (const Row& row : rows) {
    const auto c = calibrate_access(points, row.kernel, out.idle, row.work);
    if (!c) continue;
    print_access(row, *c, disagreement(row, folder));
    if (out.bounds.size() < levels) out.bounds.push_back(c->bound_pj);
    if (c->kernel == "dram_stream") stream = c->bound_pj;
    if (c->kernel == "ffma") ffma = c->bound_pj;
  }
  for (const auto& [load, divide] : {std::pair{"l1_load", "l1_divide"}, {"l2_load", "l2_divide"}}) {
    const auto e = divide_energy(points, load, divide, out.idle);
    if (e) fmt::print("{:14} {:9.4g} +- {:.2g} pJ a thread\n", divide, e->value, e->ci95);
  }
  if (stream.value > 0 && ffma.value > 0) print_checks(o, out.idle, stream, ffma);
  return out;
}

void run(const Options& o) {
  const GpuCatalogue gpus = load_catalogue(o.configs + "/gpus");
  const GpuArch& gpu = find_gpu(gpus, o.gpu);
  std::vector<Recording> recordings;
  for (const std::string& folder : o.data) recordings.push_back(evaluate(o, folder, gpu));
  if (recordings.empty()) {
    throw InputError("command line", "--data", "nothing", "a folder of recordings");
  }
  if (o.write) write_access(o, recordings);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  tandem::run(tandem::parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "energy_calibrate: %s\n", e.what());
  return 2;
}
