// Scores the compiler what-if on pairs of runs of one model, eager and compiled:
//   jit_score --data DIR [--configs configs]                    all pairs, one line each
//   jit_score --base EAGER.json.gz [--measured COMPILED.json.gz] [--kernels] [--calls]    one pair
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <filesystem>
#include <map>

#include "models/kernel/classify/classify.h"
#include "models/step/op_nesting.h"
#include "sim/core/field.h"
#include "sim/predict/predict.h"
#include "sim/predict/scenario.h"
#include "sim/trace/source/stored_name.h"

namespace po = boost::program_options;

namespace tandem {
namespace {

struct Sum {
  int n = 0;
  double us = 0;
};

std::string group_of(const Step& step, std::uint32_t activity) {
  const std::string_view name = step.trace.strings.get(step.trace.activities.name[activity]);
  if (name.starts_with("triton_poi")) return "poi";
  if (name.starts_with("triton_red")) return "red";
  if (name.starts_with("triton_per")) return "per";
  return std::string(to_string(classify(name).family));
}

std::map<std::string, Sum> families(const Step& step) {
  std::map<std::string, Sum> sums;
  for (const DeviceWork& work : step.plan.works) {
    Sum& sum = sums[group_of(step, work.source)];
    ++sum.n, sum.us += to_us(work.duration);
    ++sums["all"].n, sums["all"].us += to_us(work.duration);
  }
  return sums;
}

double unprofiled_ms(std::string trace) {
  trace.replace(trace.find(".json"), std::string::npos, ".meta.json");
  const Json meta = read_json_file(trace);
  return meta.at("iter_s").get<double>() * 1e3;
}

/// Host time of the first and of further kernels of each kind of operation.
void print_host(const Step& step) {
  std::map<std::string, Sum> sums;
  const Plan& plan = step.plan;
  const OpNesting nesting = nest_ops(step.trace, step.links);
  std::uint32_t last = no_row;
  for (const HostItem& item : plan.items) {
    if (item.work_count == 0) continue;
    const std::uint32_t activity = plan.works[item.first_work].source;
    const std::uint32_t op = nesting.of_activity[activity];
    std::string group = group_of(step, activity);
    if (!group.starts_with("p") && group != "red" && op != no_row) {
      group = step.trace.strings.get(step.trace.ops.name[op]);
      group += op == last ? " further" : " first";
    }
    last = op;
    Sum& sum = sums[group];
    ++sum.n, sum.us += to_us(item.gap + item.call);
  }
  for (const auto& [name, sum] : sums) {
    fmt::print("  host {:<50.50} {:>5} {:>9.1f} us  {:>6.2f} each\n", name, sum.n, sum.us,
               sum.us / sum.n);
  }
}

TracedRun read(const std::string& path, const ReplayOptions& options) {
  return analyse(import_trace(path), options);
}

using Sums = std::map<std::string, Sum>;

void print_families(Sums& before, Sums& after, Sums& truth) {
  for (const auto* sums : {&before, &truth}) {
    for (const auto& [name, sum] : *sums) after[name].n += 0;
  }
  fmt::print("  {:<14} {:>6} {:>9} | {:>6} {:>9} | {:>6} {:>9}\n", "family", "eager", "us", "pred",
             "us", "meas", "us");
  for (const auto& [name, sum] : after) {
    fmt::print("  {:<14} {:>6} {:>9.1f} | {:>6} {:>9.1f} | {:>6} {:>9.1f}\n", name, before[name].n,
               before[name].us, sum.n, sum.us, truth[name].n, truth[name].us);
  }
}

struct PairScore {
  double gpu = 0, kernels = 0, step = 0, ratio = 0;  // predicted over measured, minus 1
};

struct Pair {
  std::string base, measured;
  std::string compiler = "inductor", attention = "auto";
  bool fitted = false;  // kernels or host times of the measured run gave constants
};

PairScore score(const Pair& pair, ReplayOptions o, bool families_too, bool host, bool kernels) {
  const TracedRun a = read(pair.base, o), m = read(pair.measured, o);
  const double eager_us = predict(a, o).result.step.time_us;
  o.what_ifs.set("compile", pair.compiler);
  o.what_ifs.set("attention", pair.attention);
  const Scenario s = make_scenario(a, nullptr, o);
  const double step_us = predict(a, o).result.step.time_us;
  auto before = families(a.traced_step), after = families(s.step), truth = families(m.traced_step);
  const double eager_ms = unprofiled_ms(pair.base), compiled_ms = unprofiled_ms(pair.measured);
  PairScore out;
  out.gpu = after["all"].us / truth["all"].us - 1;
  out.kernels = double(after["all"].n) / truth["all"].n - 1;
  out.step = step_us / 1e3 / compiled_ms - 1;
  out.ratio = (eager_us / step_us) / (eager_ms / compiled_ms) - 1;
  if (families_too) print_families(before, after, truth);
  if (host) {
    fmt::print("measured\n"), print_host(m.traced_step);
    fmt::print("predicted\n"), print_host(s.step);
  }
  if (kernels) {
    for (const auto& row : find_report(s.what_ifs, "compile")->lists.at(0).rows) {
      fmt::print("    {:>8.2f} us {:>10.3f} MB {:>3} ops {}\n", std::get<double>(row[3].value),
                 std::get<double>(row[2].value) / 1e6, std::get<std::int64_t>(row[1].value),
                 std::get<std::string>(row[0].value));
    }
  }
  return out;
}

/// Pairs of NAME-eager-bN and NAME-compile-bN (or -script-) below the data folder.
std::vector<Pair> find_pairs(const std::string& data) {
  std::vector<Pair> pairs;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    const std::string path = entry.path().string();
    if (trace_stem(path)) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  for (const std::string& measured : files) {
    for (const std::string_view mode : {"-compile-", "-script-"}) {
      const std::size_t at = measured.find(mode);
      if (at == std::string::npos) continue;
      Pair pair;
      pair.measured = pair.base = measured;
      pair.base.replace(at, mode.size(), "-eager-");
      if (!std::filesystem::exists(pair.base)) continue;
      if (mode == "-script-") pair.compiler = "torchscript";
      pair.fitted = measured.find("h200_2026-11-20_fit/traces/") != std::string::npos;
      pairs.push_back(pair);
      if (mode == "-script-" || measured.find("bert") == std::string::npos) continue;
      pair.attention = "math";
      pairs.push_back(pair);
    }
  }
  return pairs;
}

void print_table(const std::vector<Pair>& pairs, const ReplayOptions& options) {
  fmt::print("{:<44} {:<11} {:<5} {:<8} {:>7} {:>8} {:>7} {:>9}\n", "measured run", "compiler",
             "attn", "data", "GPU %", "kernels", "step %", "speed-up");
  for (const Pair& pair : pairs) {
    const PairScore s = score(pair, options, false, false, false);
    const std::string name = std::filesystem::path(pair.measured).stem().stem().string();
    fmt::print("{:<44} {:<11} {:<5} {:<8} {:>+7.1f} {:>+8.1f} {:>+7.1f} {:>+9.1f}\n", name,
               pair.compiler, pair.attention, pair.fitted ? "fitted" : "hold-out", 100 * s.gpu,
               100 * s.kernels, 100 * s.step, 100 * s.ratio);
  }
}

int run(int argc, char** argv) {
  po::options_description all("options");
  Pair pair;
  std::vector<std::string> data;
  ReplayOptions o;
  bool kernels = false, host = false;
  all.add_options()("data", po::value(&data)->multitoken())("base", po::value(&pair.base))(
      "measured", po::value(&pair.measured))("compiler",
                                             po::value(&pair.compiler)->default_value("inductor"))(
      "attention", po::value(&pair.attention)->default_value("auto"))(
      "host", po::value(&o.host)->default_value("default"))(
      "configs", po::value(&o.configs)->default_value("configs"))(
      "kernels", po::bool_switch(&kernels))("calls", po::bool_switch(&host));
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, all), values);
  po::notify(values);
  if (!pair.measured.empty()) {
    const PairScore s = score(pair, o, true, host, kernels);
    fmt::print("  GPU {:+.1f} %  kernels {:+.1f} %  step {:+.1f} %  speed-up {:+.1f} %\n",
               100 * s.gpu, 100 * s.kernels, 100 * s.step, 100 * s.ratio);
  }
  for (const std::string& folder : data) print_table(find_pairs(folder), o);
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    return tandem::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "jit_score: {}\n", e.what());
    return 2;
  }
}
