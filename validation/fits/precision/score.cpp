// Scores the precision what-if: precision_score --pairs pairs.txt --data DIR [--only TEXT]
//   [--families] [--operations] [--steps] [--host NAME]
// A line of the pairs file: base trace, precision, measured trace, set (fitted or hold-out).
// --steps tells the host's error from the edit's: both traces replayed as they are, and the edited
// step against the replay of the measured trace.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "models/kernel/classify/classify.h"
#include "models/step/op_nesting.h"
#include "sim/core/field.h"
#include "sim/predict/predict.h"
#include "sim/predict/scenario.h"

namespace po = boost::program_options;

namespace tandem {
namespace {

struct Pair {
  std::string base, precision, measured, set;
};

struct Sum {
  int n = 0;
  double us = 0;
};
using Sums = std::map<std::string, Sum>;

std::vector<Pair> read_pairs(const std::string& path) {
  std::ifstream in(path);
  std::vector<Pair> pairs;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Pair p;
    if (!(words >> p.base >> p.precision >> p.measured >> p.set)) {
      throw InputError(path, "line " + line, "fewer than 4 words",
                       "base trace, precision, measured trace, set");
    }
    pairs.push_back(p);
  }
  return pairs;
}

/// Kernels by family and phase; casts for themselves.
Sums families(const Step& step) {
  Sums sums;
  const OpNesting nesting = nest_ops(step.trace, step.links);
  for (const DeviceWork& work : step.plan.works) {
    const std::string_view name = step.trace.strings.get(step.trace.activities.name[work.source]);
    std::string group(to_string(classify(name).family));
    if (name.find("copy_kernel") != name.npos) group = "cast";
    const std::uint32_t op = nesting.of_activity[work.source];
    bool backward = false, dispatched = false;
    for (std::uint32_t r = op; r != no_row; r = nesting.parent[r]) {
      const std::string_view text = step.trace.strings.get(step.trace.ops.name[r]);
      backward |= text.starts_with("autograd::engine");
      dispatched |= text.find("ackward") != text.npos;
    }
    if (group != "cast" && group != "optimizer") group += backward || dispatched ? " bwd" : "";
    for (Sum* sum : {&sums[group], &sums["all"]}) ++sum->n, sum->us += to_us(work.duration);
  }
  return sums;
}

/// By operation and shapes: where the prediction misses.
Sums operations(const Step& step) {
  Sums sums;
  const OpNesting nesting = nest_ops(step.trace, step.links);
  for (const DeviceWork& work : step.plan.works) {
    const std::uint32_t op = nesting.of_activity[work.source];
    if (op == no_row || !step.trace.ops.name[op].valid()) continue;
    std::string key(step.trace.strings.get(step.trace.ops.name[op]));
    key.append(" ").append(shapes_text(operands_of(step.trace, op).tensors));
    Sum& sum = sums[key];
    ++sum.n, sum.us += to_us(work.duration);
  }
  return sums;
}

void print_operations(const Step& predicted, const Step& measured) {
  Sums p = operations(predicted), m = operations(measured);
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, sum] : p) order.push_back({-std::abs(sum.us - m[name].us), name});
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(25, order.size()); ++i) {
    const std::string& name = order[i].second;
    fmt::print("    {:>4} {:>8.0f}  measured {:>4} {:>8.0f}  {:.90}\n", p[name].n, p[name].us,
               m[name].n, m[name].us, name);
  }
}

double unprofiled_us(std::string trace) {
  trace.replace(trace.find(".json"), std::string::npos, ".meta.json");
  return read_json_file(trace).at("iter_s").get<double>() * 1e6;
}

double host_us(const Step& step) {
  double sum = 0;
  for (const HostItem& item : step.plan.items) sum += to_us(item.gap + item.call);
  return sum;
}

/// Host time up to the first launch of the backward pass, up to its last one, and after it.
std::array<double, 3> host_phases(const Step& step) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  std::uint32_t first = no_row, last = 0;
  for (std::uint32_t i = 0; i < step.plan.items.size(); ++i) {
    const HostItem& item = step.plan.items[i];
    if (item.work_count == 0) continue;
    const std::uint32_t activity = step.plan.works[item.first_work].source;
    for (std::uint32_t r = nesting.of_activity[activity]; r != no_row; r = nesting.parent[r]) {
      const std::string_view name = step.trace.strings.get(step.trace.ops.name[r]);
      if (!name.starts_with("autograd::engine")) continue;
      first = std::min(first, i), last = i;
    }
  }
  std::array<double, 3> us{};
  for (std::uint32_t i = 0; i < step.plan.items.size(); ++i) {
    const HostItem& item = step.plan.items[i];
    us[i < first ? 0 : i <= last ? 1 : 2] += to_us(item.gap + item.call);
  }
  return us;
}

struct Score {
  double gpu = 0, step = 0, kernels = 0;
  double base_replay = 0, replay = 0;  // steps of the two traces as they are, against the clock
  double edit = 0;                     // predicted step against the replay of the measured trace
};

void print_steps(const Score& s, double gpu_share) {
  fmt::print(
      "    step: base replay {:+.1f} %, measured trace replayed {:+.1f} %, edit against that "
      "replay "
      "{:+.1f} %; GPU busy {:.0f} % of the measured step\n",
      100 * s.base_replay, 100 * s.replay, 100 * s.edit, 100 * gpu_share);
}

void print_host_phases(const Step& base, const Step& predicted, const Step& measured) {
  const auto b = host_phases(base), p = host_phases(predicted), m = host_phases(measured);
  constexpr std::array<std::string_view, 3> names = {"forward", "backward", "rest"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    fmt::print("    host {:<8} {:>6.0f} -> {:>6.0f}, in the measured trace {:>6.0f} us\n", names[i],
               b[i], p[i], m[i]);
  }
}

struct Tool {
  std::string data, configs, host;
  bool show_families = false, show_operations = false, show_steps = false;

  ReplayOptions options() const {
    ReplayOptions o;
    o.configs = configs;
    o.host = host;
    return o;
  }

  TracedRun read(const std::string& path) const { return analyse(import_trace(path), options()); }

  Score score(const Pair& pair) const {
    const std::string base = data + "/" + pair.base, measured = data + "/" + pair.measured;
    const TracedRun a = read(base);
    const TracedRun m = read(measured);
    ReplayOptions o = options();
    const double base_replay_us = predict(a, o).result.step.time_us;
    const double replay_us = predict(m, o).result.step.time_us;
    o.what_ifs.set("precision", pair.precision);
    const auto t0 = std::chrono::steady_clock::now();
    const Scenario s = make_scenario(a, nullptr, o);
    const auto t1 = std::chrono::steady_clock::now();
    const Prediction p = predict(a, o);
    Sums before = families(a.traced_step), after = families(s.step),
         truth = families(m.traced_step);
    const double measured_us = unprofiled_us(measured);
    Score out;
    out.gpu = after["all"].us / truth["all"].us - 1;
    out.step = p.result.step.time_us / measured_us - 1;
    out.kernels = double(after["all"].n) / truth["all"].n - 1;
    out.base_replay = base_replay_us / unprofiled_us(base) - 1;
    out.replay = replay_us / measured_us - 1;
    out.edit = p.result.step.time_us / replay_us - 1;
    fmt::print(
        "{:<44} {:<5} {:<9} {:>8.0f} {:>8.0f} {:>8.0f} {:>+6.1f} | {:>5} {:>5} {:>+6.1f} | "
        "{:>7.2f} {:>7.2f} {:>+6.1f} | {:.2f} ms, casts +{} -{}\n",
        pair.base.substr(pair.base.rfind('/') + 1, 43), pair.precision, pair.set, before["all"].us,
        after["all"].us, truth["all"].us, 100 * out.gpu, after["all"].n, truth["all"].n,
        100 * out.kernels, p.result.step.time_us / 1e3, measured_us / 1e3, 100 * out.step,
        std::chrono::duration<double, std::milli>(t1 - t0).count(),
        report_number(find_report(s.what_ifs, "precision"), "casts_added", 0),
        report_number(find_report(s.what_ifs, "precision"), "casts_removed", 0));
    if (show_steps) print_steps(out, truth["all"].us / measured_us);
    if (show_families) print_families(before, after, truth);
    if (show_families) {
      fmt::print("    host {:.0f} -> {:.0f}, in the measured trace {:.0f} us\n",
                 host_us(a.traced_step), host_us(s.step), host_us(m.traced_step));
      print_host_phases(a.traced_step, s.step, m.traced_step);
    }
    if (show_operations) print_operations(s.step, m.traced_step);
    return out;
  }

  static void print_families(Sums& before, Sums& after, Sums& truth) {
    Sums all = before;
    all.insert(after.begin(), after.end());
    all.insert(truth.begin(), truth.end());
    for (const auto& [name, unused] : all) {
      const Sum b = before[name], p = after[name], m = truth[name];
      fmt::print(
          "    {:<22} {:>5} {:>9.0f}  -> {:>5} {:>9.0f}  measured {:>5} {:>9.0f}  {:>+8.0f}\n",
          name, b.n, b.us, p.n, p.us, m.n, m.us, p.us - m.us);
    }
  }
};

void print_means(const std::map<std::string, std::vector<Score>>& sets) {
  for (const auto& [name, scores] : sets) {
    Score mean;
    for (const Score& s : scores) {
      mean.gpu += std::abs(s.gpu), mean.step += std::abs(s.step),
          mean.kernels += std::abs(s.kernels), mean.replay += std::abs(s.replay),
          mean.edit += std::abs(s.edit);
    }
    const double n = static_cast<double>(scores.size());
    fmt::print(
        "mean {:<24} n {:>2}  GPU time {:>5.1f} %  step {:>5.1f} %  kernels {:>5.1f} %  "
        "measured trace replayed {:>5.1f} %  edit against that {:>5.1f} %\n",
        name, scores.size(), 100 * mean.gpu / n, 100 * mean.step / n, 100 * mean.kernels / n,
        100 * mean.replay / n, 100 * mean.edit / n);
  }
}

int run(int argc, char** argv) {
  po::options_description all("options");
  Tool tool;
  std::string pairs, only;
  all.add_options()("pairs",
                    po::value(&pairs)->default_value("validation/fits/precision/pairs.txt"))(
      "data", po::value(&tool.data)->default_value("."))(
      "configs", po::value(&tool.configs)->default_value("configs"))("only", po::value(&only))(
      "host", po::value(&tool.host)->default_value("default"))(
      "steps", po::bool_switch(&tool.show_steps))("families", po::bool_switch(&tool.show_families))(
      "operations", po::bool_switch(&tool.show_operations));
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, all), values);
  po::notify(values);
  std::map<std::string, std::vector<Score>> sets;
  fmt::print("{:<44} {:<5} {:<9} {:>8} {:>8} {:>8} {:>6} | {:>5} {:>5} {:>6} | {:>7} {:>7} {:>6}\n",
             "base", "to", "set", "base us", "GPU us", "measured", "%", "n", "meas.", "%",
             "step ms", "meas.", "%");
  for (const Pair& pair : read_pairs(pairs)) {
    if ((pair.base + " " + pair.precision + " " + pair.set).find(only) == std::string::npos)
      continue;
    sets[pair.set + " " + pair.precision].push_back(tool.score(pair));
  }
  print_means(sets);
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    return tandem::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
