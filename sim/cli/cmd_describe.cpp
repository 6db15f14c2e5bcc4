#include <fmt/format.h>

#include <string>
#include <tuple>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/runtime/modes.h"
#include "sim/cli/command.h"
#include "sim/core/error.h"
#include "sim/predict/result.h"

namespace tandem {

namespace {

void describe_gpus(const Arguments& arguments) {
  if (arguments.size() > 1 && arguments[1] == "--template") {
    fmt::print("{}\n", gpu_template());
    return;
  }
  const GpuCatalogue catalogue = load_catalogue(data_root() + "/configs/gpus");
  if (arguments.size() > 1) {
    fmt::print("{}", describe(find_gpu(catalogue, arguments[1])));
    return;
  }
  for (const GpuArch& gpu : catalogue.gpus) fmt::print("{:<18} {}\n", gpu.name, gpu.display_name);
}

void describe_modes() {
  fmt::print(
      "as-traced    the run as it was traced\n"
      "eager-async  launches do not wait for the device\n"
      "eager-sync   every kernel launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1)\n"
      "cuda-graph   one graph launch a step; what follows a wait inside the step stays eager\n"
      "jit          the model compiled: fused kernels, channels-last convolutions (--compiler, "
      "--attention)\n");
}

struct MetricRow {
  std::string name;
  std::string_view unit, description;
};

constexpr std::tuple<std::string_view, std::string_view, std::string_view> memory_rows[] = {
    {"peak_bytes", "B", "most memory that the step's tensors hold at once"},
    {"fits", "bool", "in the memory of the scenario's GPU"},
    {"largest_batch", "count", "that fits"},
    {"uncertainty", "ratio", "standard deviation of the part that grows with the batch"},
};

std::vector<MetricRow> metric_rows() {
  std::vector<MetricRow> rows;
  const auto add = [&](std::string_view prefix, std::string_view name, std::string_view unit,
                       std::string_view text) {
    rows.push_back({fmt::format("{}.{}", prefix, name), unit, text});
  };
  for (const MetricInfo& i : step_metric_infos()) add("step", i.name, i.unit, i.description);
  for (const GpuMetricInfo& i : gpu_metric_infos()) add("step", i.name, i.unit, i.description);
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

}  // namespace

int run_describe(const Arguments& arguments) {
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "gpu") {
    describe_gpus(arguments);
  } else if (what == "mode") {
    describe_modes();
  } else if (what == "metric") {
    describe_metrics(arguments.size() > 1 ? arguments[1] : "");
  } else {
    throw InputError("command line", "describe", "\"" + what + "\"", "one of: gpu, mode, metric");
  }
  return exit_ok;
}

}  // namespace tandem
