// GPUs of configs/gpus for tests, read once.
#pragma once

#include <string_view>

#include "models/arch/gpu_config.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

inline const GpuArch& gpu(std::string_view name = "h200_sxm") {
  static const GpuCatalogue catalogue = load_catalogue(source_path("configs/gpus"));
  return find_gpu(catalogue, name);
}

}  // namespace tandem::test
