// A step under a compiler on an H200, with the constants that the repository ships.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/whatif/compile/compile.h"
#include "models/whatif/precision/law.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

struct CompileBench {
  GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  FusionLaw law = load_fusion_law(source_path("configs/kernels/fusion.json"));
  TimeConstants time = TimeConstants::load(source_path("configs/kernels/time.json"));
  LibraryNames names = load_library_names(source_path("configs/kernels/libraries.json"));
  MeasuredLayers layers = load_measured_layers(source_path("configs/kernels/layers.json"));
  PrecisionLaw precision = load_precision_law(source_path("configs/kernels/precision.json"));
  HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  LossList losses;
  JitReport report;
  const GpuArch& gpu() const { return find_gpu(gpus, "h200_sxm"); }
  JitConstants constants() const {
    return {gpu(), law, time, names, layers, host, precision.products};
  }
  Step compile(Step step, Compiler compiler = Compiler::inductor) {
    return with_jit(std::move(step), {compiler, AttentionPath::automatic}, constants(), losses,
                    &report);
  }
};

/// Of the device work of a step.
inline std::vector<std::string> kernel_names(const Step& step) {
  std::vector<std::string> names;
  for (const DeviceWork& work : step.plan.works) {
    names.emplace_back(step.trace.strings.get(step.trace.activities.name[work.source]));
  }
  return names;
}

/// Of the longest work of a step.
inline double longest_us(const Step& step) {
  double us = 0;
  for (const DeviceWork& w : step.plan.works) us = std::max(us, to_us(w.duration));
  return us;
}

}  // namespace tandem::test
