#include <fmt/format.h>

#include "models/arch/gpu_config.h"
#include "models/runtime/modes.h"
#include "sim/cli/command.h"
#include "sim/core/error.h"
#include "sim/metrics/result.h"

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

void describe_metrics() {
  for (const MetricInfo& info : step_metric_infos()) {
    fmt::print("step.{:<22} {:<9} {}\n", info.name, info.unit, info.description);
  }
  fmt::print(
      "kernels[].{:<23} {:<9} compute, memory, latency or launch: what most of the time is bound "
      "by\n"
      "kernels[].{:<23} {:<9} law of the time model that says so, or use: by utilization\n",
      "bound", "text", "bound_law", "text");
  for (const KernelLevelInfo& info : kernel_level_infos()) {
    fmt::print("kernels[].{:<23} {:<9} {}\n", info.name, info.unit, info.description);
  }
}

}  // namespace

int run_describe(const Arguments& arguments) {
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "gpu") {
    describe_gpus(arguments);
  } else if (what == "mode") {
    describe_modes();
  } else if (what == "metric") {
    describe_metrics();
  } else {
    throw InputError("command line", "describe", "\"" + what + "\"", "one of: gpu, mode, metric");
  }
  return exit_ok;
}

}  // namespace tandem
