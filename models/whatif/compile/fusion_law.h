// Constants of the compiler what-if: rates of generated kernels and host costs of compiled code.
#pragma once

#include <string>
#include <vector>

#include "sim/core/provenance.h"

namespace tandem {

/// A generated kernel takes floor_us + bytes / (dram_share x peak DRAM rate).
struct GeneratedRate {
  double floor_us = 0;
  double dram_share = 0;
};

/// What each field means stands in fusion_law.cpp; times in us.
struct FusionLaw {
  std::string name;

  GeneratedRate pointwise, reduction, row;
  double finish_us = 0;
  double split_elements = 0;
  double persistent_columns = 0;
  double random_lane_cycles = 0;
  double moments_lane_cycles = 0;
  double pooling_share = 0;

  double library_floor_us = 0;
  double tensor_share = 0;
  double library_dram_share = 0;
  double aligned_bytes = 0;
  double simt_share = 0;
  double depthwise_lane_cycles = 0;
  double depthwise_gradient_lane_cycles = 0;

  double generated_host_us = 0;
  double matmul_host_us = 0;
  double convolution_host_us = 0;
  double convolution_backward_host_us = 0;
  double attention_host_us = 0;
  double further_host_us = 0;
  double region_host_us = 0;
  double script_host_share = 0;
  double xla_host_us = 0;

  double expected_error = 0;
  double memory_error = 0;

  std::vector<Provenance> origins;
};

/// Reads configs/kernels/fusion.json. Errors: InputError `file:key: found X, expected Y`.
FusionLaw load_fusion_law(const std::string& path);

}  // namespace tandem
