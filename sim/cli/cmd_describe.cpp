// tandem describe: what the tables of the program hold.
#include <fmt/format.h>

#include <array>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/runtime/modes.h"
#include "models/whatif/transform.h"
#include "sim/check/checks.h"
#include "sim/cli/arguments.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/predict/options.h"
#include "sim/predict/result.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

void describe_gpus(const std::string& name) {
  const GpuCatalogue catalogue = load_catalogue(data_root() + "/configs/gpus");
  if (!name.empty()) {
    fmt::print("{}", describe(find_gpu(catalogue, name)));
    return;
  }
  for (const GpuArch& gpu : catalogue.gpus) fmt::print("{:<18} {}\n", gpu.name, gpu.display_name);
}

/// All modes, or the one called `name`. Errors: InputError for a name that is none.
void describe_modes(const std::string& name) {
  if (!name.empty()) parse_mode(name);
  for (const Named<Mode>& mode : modes()) {
    if (name.empty() || name == mode.name) fmt::print("{:<12} {}\n", mode.name, mode.doc);
  }
  if (name.empty()) fmt::print("{:<12} as-traced with the what-if compile\n", jit_alias);
}

void describe_what_if(const Transform& transform) {
  fmt::print("{:<12} {}\n", transform.name, transform.doc);
  for (const TransformOption& option : transform.options) {
    fmt::print("  --{:<14} {}{}{}\n", option.name, option.doc, option.names.empty() ? "" : ": ",
               fmt::join(option.names, ", "));
  }
  fmt::print("  needs            a config of the traced GPU{}{}\n",
             transform.needs.batch ? ", a recognisable batch" : "",
             transform.needs.pytorch ? ", operator shapes of an eager PyTorch run" : "");
}

/// All what-ifs in the order of application, or one. Errors: InputError for a name that is none.
void describe_what_ifs(const std::string& name) {
  bool any = false;
  for (const Transform& transform : transforms()) {
    if (!name.empty() && name != transform.name) continue;
    describe_what_if(transform);
    any = true;
  }
  if (any) return;
  throw InputError("command line", "describe what-if", "\"" + name + "\"",
                   "one of: " + names_of(transforms()));
}

struct MetricRow {
  std::string name;
  std::string_view unit, description;
};

constexpr std::tuple<std::string_view, std::string_view, std::string_view> memory_rows[] = {
    {"peak_bytes", "B", "most memory that the step's tensors hold at once"},
    {"fits", "bool", "in the memory of the scenario's GPU"},
    {"largest_batch", "count", "that fits"},
    {"uncertainty", "ratio", "half of the 90 % interval of the peak, over the peak"},
    {"low_bytes", "B", "the peak is at least this in 19 of 20 cases"},
    {"high_bytes", "B", "the peak is at most this in 19 of 20 cases"},
};

std::vector<MetricRow> metric_rows() {
  std::vector<MetricRow> rows;
  const auto add = [&](std::string_view prefix, std::string_view name, std::string_view unit,
                       std::string_view text) {
    rows.push_back({fmt::format("{}.{}", prefix, name), unit, text});
  };
  for (const MetricInfo& i : step_metric_infos()) add("step", i.name, i.unit, i.description);
  for (const GpuMetricInfo& i : gpu_metric_infos()) add("step", i.name, i.unit, i.description);
  for (const RuntimeMetricInfo& i : runtime_metric_infos()) {
    add("runtime", i.name, i.unit, i.description);
  }
  for (const EnergyInfo& i : energy_infos()) add("step.energy", i.name, i.unit, i.description);
  for (const auto& [name, unit, text] : memory_rows) add("memory", name, unit, text);
  add("kernels[]", "bound", "text",
      "compute, memory, latency or launch: what most of the time is bound by");
  add("kernels[]", "bound_law", "text", "law of the time model that says so, or use: utilization");
  for (const std::string_view list : {"kernels[]", "layers[]"}) {
    for (const KernelLevelInfo& i : kernel_level_infos()) add(list, i.name, i.unit, i.description);
  }
  for (const GpuMetricInfo& i : gpu_metric_infos())
    add("families[]", i.name, i.unit, i.description);
  return rows;
}

/// All metrics, or those whose name holds `part`. Errors: InputError if none does.
void describe_metrics(const std::string& part) {
  int shown = 0;
  for (const MetricRow& row : metric_rows()) {
    if (row.name.find(part) == std::string::npos) continue;
    fmt::print("{:<40} {:<9} {}\n", row.name, row.unit, row.description);
    ++shown;
  }
  if (shown > 0) return;
  throw InputError("command line", "describe metric", "\"" + part + "\", which no metric holds",
                   "a part of a name that 'tandem describe metric' lists");
}

/// All checks, or one, with what it means and what to do. Errors: InputError for a name that is
/// none.
void describe_checks(const std::string& name) {
  bool any = false;
  for (const Check& c : checks()) {
    if (!name.empty() && name != c.name) continue;
    fmt::print("{:<26} {} ({})\n", c.name, c.doc, c.unit);
    any = true;
    if (name.empty()) continue;
    std::string touched;
    for (const Named<Use>& use : uses) {
      if (c.touches.has(use.value))
        touched += (touched.empty() ? "" : ", ") + std::string(use.name);
    }
    fmt::print("  for              {}\n  means            {}\n  what to do       {}\n", touched,
               c.means, c.advice);
  }
  if (any) return;
  throw InputError("command line", "describe check", "\"" + name + "\"",
                   "one of: " + names_of(checks()));
}

struct Subject {
  std::string_view name;
  void (*describe)(const std::string& name);
};
constexpr std::array<Subject, 5> subjects{{
    {"gpu", describe_gpus},
    {"mode", describe_modes},
    {"what-if", describe_what_ifs},
    {"metric", describe_metrics},
    {"check", describe_checks},
}};

}  // namespace

int run_describe(const Arguments& arguments) {
  po::options_description options("tandem describe " + names_of(subjects, "|") + " [NAME]");
  options.add_options()("help", "show this text")(
      "subject", po::value<std::string>()->default_value(""), "what to describe")(
      "name", po::value<std::string>()->default_value(""),
      "one of them, or a part of a metric's name; default: all")("template",
                                                                 "of gpu: a config to fill in");
  const po::variables_map values =
      parse_arguments("describe", arguments, options, {{"subject"}, {"name"}});
  if (values.count("help") > 0) {
    std::cout << options;
    return exit_ok;
  }
  const std::string what = values["subject"].as<std::string>();
  if (what == "gpu" && values.count("template") > 0) {
    fmt::print("{}\n", gpu_template());
    return exit_ok;
  }
  for (const Subject& subject : subjects) {
    if (subject.name != what) continue;
    subject.describe(values["name"].as<std::string>());
    return exit_ok;
  }
  throw InputError("command line", "describe", "\"" + what + "\"", "one of: " + names_of(subjects));
}

}  // namespace tandem
