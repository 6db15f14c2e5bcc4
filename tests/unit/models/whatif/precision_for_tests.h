// Another precision on an H200, with the constants that the repository ships.
#pragma once

#include "models/arch/gpu_config.h"
#include "models/runtime/host_model.h"
#include "models/whatif/precision/kernels.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

struct PrecisionBench {
  GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  PrecisionLaw law = load_precision_law(source_path("configs/kernels/precision.json"));
  TimeConstants time = TimeConstants::load(source_path("configs/kernels/time.json"));
  LibraryNames names = load_library_names(source_path("configs/kernels/libraries.json"));
  MeasuredLayers layers = load_measured_layers(source_path("configs/kernels/layers.json"));
  HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  const GpuArch& h200() const { return find_gpu(gpus, "h200_sxm"); }
  RetimeContext context() const { return {h200(), law, time, names, layers}; }
};

}  // namespace tandem::test
