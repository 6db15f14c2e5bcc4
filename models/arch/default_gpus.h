// GPUs of commands that nobody gave one (configs/defaults.json).
#pragma once

#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Names of the catalogue.
struct DefaultGpus {
  std::string network;  // of steps without a trace
  std::string square;   // of tiny kernels launched back to back
  std::vector<Provenance> origins;
};

/// Errors: InputError for a file that cannot be read, and for a GPU that `gpus` lacks.
DefaultGpus load_default_gpus(const std::string& path, const GpuCatalogue& gpus);

}  // namespace tandem
