// Scores the kernel model against counters measured by Nsight Compute.
//   kernel_score --data DIR [--configs DIR] [--costs FILE] [--kernels CSV] [--only PREFIX]
//     [--shapes drop]: as if the trace were of a CUDA graph, without operations
// DIR/counters holds NAME.csv[.gz|.zst] and DIR/traces NAME.json[.gz|.zst] of the same workload.
// Prints one row a capture and the means; --kernels writes every matched kernel with both values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "models/kernel/counters/cost_model.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "sim/counters/match.h"
#include "sim/counters/utilization.h"
#include "sim/trace/import.h"
#include "sim/trace/source/stored_name.h"

namespace tandem {
namespace {

struct Options {
  std::string data, configs = "configs", costs, kernels, only, shapes = "keep";
};

/// Sums over the matched kernels of a step: counted and predicted.
struct Sums {
  double elapsed = 0, active = 0, issue = 0, tc_active = 0, tc_issue = 0;
  double dram_read = 0, dram_write = 0, l2 = 0, shared = 0, l1 = 0, warps = 0;
};

struct Score {
  std::string name;
  Sums counted, predicted;
  double kernels = 0, time = 0, modelled_time = 0;
  double issue_error_cycles = 0, active_error_cycles = 0;  // |predicted - counted| share x elapsed
};

double value(const CounterValues& v, Counter c) {
  const double x = v[static_cast<std::size_t>(c)];
  return std::isnan(x) ? 0 : x;
}

void add_counted(const CounterValues& v, Sums& s) {
  s.elapsed += value(v, Counter::smsp_elapsed_cycles);
  s.active += value(v, Counter::smsp_active_cycles);
  s.issue += value(v, Counter::smsp_issue_cycles);
  s.tc_active += value(v, Counter::tc_active_cycles);
  s.tc_issue += value(v, Counter::tc_issue_cycles);
  s.dram_read += value(v, Counter::dram_read_sectors);
  s.dram_write += value(v, Counter::dram_write_sectors);
  s.l2 += value(v, Counter::l2_sectors);
  s.l1 += value(v, Counter::l1_sectors);
  s.shared += value(v, Counter::shared_wavefronts);
  s.warps += value(v, Counter::warp_active_cycles);
}

/// Nsight Compute's elapsed cycles include time around the kernel.
double counted_window(const GpuArch& gpu, const GeneralCosts& general, const KernelCost& c) {
  return c.smsp_elapsed_cycles + smsp_count(gpu) * general.counter_window_cycles;
}

void add_predicted(const GpuArch& gpu, const GeneralCosts& general, const KernelCost& c, Sums& s) {
  s.elapsed += counted_window(gpu, general, c);
  s.active += c.smsp_active_cycles;
  s.issue += c.smsp_issue_cycles;
  s.tc_active += c.tc_active_cycles;
  s.tc_issue += c.tc_issue_cycles;
  s.dram_read += c.dram_read_sectors;
  s.dram_write += c.dram_write_sectors;
  s.l2 += c.l2_sectors;
  s.l1 += c.l1_sectors;
  s.shared += c.shared_wavefronts;
  s.warps += c.warp_active_cycles;
}

void write_kernel(std::ofstream& out, const std::string& name, const KernelLaunch& l,
                  const KernelCost& p, const CounterValues& c) {
  if (!out.is_open()) return;
  out << fmt::format("{},{},{},{},{},{}", name, to_string(l.family), kind_name(l.traits),
                     functor_of(l.traits).name, l.duration_us, p.confidence);
  const std::pair<double, Counter> pairs[] = {{p.smsp_elapsed_cycles, Counter::smsp_elapsed_cycles},
                                              {p.smsp_active_cycles, Counter::smsp_active_cycles},
                                              {p.smsp_issue_cycles, Counter::smsp_issue_cycles},
                                              {p.tc_active_cycles, Counter::tc_active_cycles},
                                              {p.tc_issue_cycles, Counter::tc_issue_cycles},
                                              {p.warp_active_cycles, Counter::warp_active_cycles},
                                              {p.l1_sectors, Counter::l1_sectors},
                                              {p.l2_sectors, Counter::l2_sectors},
                                              {p.dram_read_sectors, Counter::dram_read_sectors},
                                              {p.dram_write_sectors, Counter::dram_write_sectors},
                                              {p.shared_wavefronts, Counter::shared_wavefronts}};
  for (const auto& [predicted, counter] : pairs) {
    out << fmt::format(",{:.0f},{:.0f}", predicted, value(c, counter));
  }
  std::string text(l.name.substr(0, 160));
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '"', '\'');
  out << ",\"" << l.op << "\",\"" << text << "\"\n";
}

Score score_capture(const std::string& name, const Options& options, const GpuCatalogue& gpus,
                    const CostConstants& costs, std::ofstream& kernels) {
  const Trace trace = import_trace(find_stored(options.data + "/traces/" + name + ".json").value());
  const Links links = link_trace(trace);
  const OpNesting ops = nest_ops(trace, links);
  const CounterReport report =
      read_counter_report(find_stored(options.data + "/counters/" + name + ".csv").value());
  const StepMatch match = match_best_step(trace, links, report);
  const DeviceMatch device = match_device(gpus, trace.devices.at(0));
  if (device.gpu == nullptr) throw InputError(name, "device", trace.devices[0].name, "a known GPU");
  const GpuArch& gpu = *device.gpu;
  const bool keep = options.shapes != "drop";
  const std::vector<std::uint32_t> none(trace.calls.size(), no_row);
  const TraceLaunches launches(trace, links, keep ? ops.of_call : none);
  CostCache cache(gpu, costs);
  Score score;
  score.name = name;
  for (std::size_t i = 0; i < match.kernels.size(); ++i) {
    const std::uint32_t activity = match.kernels[i].activity;
    const KernelLaunch launch = launches.launch(activity);
    const KernelCost p = cache.cost(launches.shape_of(activity), launch);
    score.time += launch.duration_us;
    if (p.confidence > 0) score.modelled_time += launch.duration_us;
    const auto rows = match.rows.of(i);
    if (rows.empty()) continue;
    const CounterValues c = mean_counters(report, rows);
    add_counted(c, score.counted);
    add_predicted(gpu, costs.general(), p, score.predicted);
    const double elapsed = value(c, Counter::smsp_elapsed_cycles);
    const double window = counted_window(gpu, costs.general(), p);
    const auto share_error = [&](double predicted, Counter counter) {
      return std::abs(predicted / window - value(c, counter) / elapsed) * elapsed;
    };
    score.issue_error_cycles += share_error(p.smsp_issue_cycles, Counter::smsp_issue_cycles);
    score.active_error_cycles += share_error(p.smsp_active_cycles, Counter::smsp_active_cycles);
    score.kernels += 1;
    write_kernel(kernels, name, launch, p, c);
  }
  return score;
}

/// One number a capture; `points`: the error is a difference of shares, else relative.
struct Measure {
  const char* title;
  bool points;
  double (*of)(const Sums&);
};

constexpr Measure measures[] = {
    {"SM active", true, [](const Sums& s) { return s.active / s.elapsed; }},
    {"issue", true, [](const Sums& s) { return s.issue / s.elapsed; }},
    {"TC active", true, [](const Sums& s) { return s.tc_active / s.elapsed; }},
    {"TC issue", true, [](const Sums& s) { return s.tc_issue / s.elapsed; }},
    {"inst.", false, [](const Sums& s) { return s.issue; }},
    {"DRAM", false, [](const Sums& s) { return s.dram_read + s.dram_write; }},
    {"DRAM rd", false, [](const Sums& s) { return s.dram_read; }},
    {"DRAM wr", false, [](const Sums& s) { return s.dram_write; }},
    {"L2", false, [](const Sums& s) { return s.l2; }},
    {"L1", false, [](const Sums& s) { return s.l1; }},
    {"shared", false, [](const Sums& s) { return s.shared; }},
    {"warps", false, [](const Sums& s) { return s.warps; }},
};

double error_of(const Measure& m, const Score& s) {
  const double counted = m.of(s.counted), predicted = m.of(s.predicted);
  if (m.points) return 100 * (predicted - counted);
  return counted > 0 ? 100 * (predicted / counted - 1) : 0;
}

void print_scores(const std::vector<Score>& scores) {
  fmt::print("Shares of SMSP cycles in %: counted > predicted. Traffic: error in %.\n\n{:40}", "");
  for (const Measure& m : measures) fmt::print("{:>{}}", m.title, m.points ? 14 : 8);
  fmt::print("{:>9}{:>9}{:>9}\n", "k-issue", "k-active", "coverage");
  for (const Score& s : scores) {
    fmt::print("{:40}", s.name);
    for (const Measure& m : measures) {
      if (m.points) {
        fmt::print("{:>14}",
                   fmt::format("{:.2f}>{:.2f}", 100 * m.of(s.counted), 100 * m.of(s.predicted)));
      } else {
        fmt::print("{:>8.1f}", error_of(m, s));
      }
    }
    fmt::print("{:>9.2f}{:>9.2f}{:>9.3f}\n", 100 * s.issue_error_cycles / s.counted.elapsed,
               100 * s.active_error_cycles / s.counted.elapsed, s.modelled_time / s.time);
  }
  for (const bool worst : {false, true}) {
    fmt::print("{:40}", worst ? "worst |error|" : "mean |error|");
    for (const Measure& m : measures) {
      double sum = 0, most = 0;
      for (const Score& s : scores) {
        sum += std::abs(error_of(m, s));
        most = std::max(most, std::abs(error_of(m, s)));
      }
      fmt::print("{:>{}.2f}", worst ? most : sum / static_cast<double>(scores.size()),
                 m.points ? 14 : 8);
    }
    fmt::print("\n");
  }
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    std::string* target = key == "--data"      ? &o.data
                          : key == "--configs" ? &o.configs
                          : key == "--costs"   ? &o.costs
                          : key == "--kernels" ? &o.kernels
                          : key == "--only"    ? &o.only
                          : key == "--shapes"  ? &o.shapes
                                               : nullptr;
    if (target == nullptr)
      throw InputError("command line", key, "an unknown option",
                       "--data, --configs, --costs, --kernels, --only, --shapes");
    *target = argv[i + 1];
  }
  if (o.data.empty())
    throw InputError("command line", "--data", "nothing", "a folder with counters/ and traces/");
  if (o.costs.empty()) o.costs = o.configs + "/kernels/costs.json";
  return o;
}

void run(const Options& options) {
  const GpuCatalogue gpus = load_catalogue(options.configs + "/gpus");
  const CostConstants costs = CostConstants::load(options.costs);
  std::ofstream kernels;
  if (!options.kernels.empty()) kernels.open(options.kernels);
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(options.data + "/counters")) {
    const std::string name = file.path().filename().string();
    const auto stem = stem_of(name, ".csv");
    if (!stem || !name.starts_with(options.only)) continue;
    if (find_stored(options.data + "/traces/" + std::string(*stem) + ".json")) {
      names.emplace_back(*stem);
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<Score> scores;
  for (const std::string& name : names) {
    scores.push_back(score_capture(name, options, gpus, costs, kernels));
  }
  if (!scores.empty()) print_scores(scores);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  tandem::run(tandem::parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "kernel_score: %s\n", e.what());
  return 2;
}
