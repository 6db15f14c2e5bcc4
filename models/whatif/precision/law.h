// Constants of the precision what-if and of the laws of time that it asks.
#pragma once

#include <string>
#include <vector>

#include "models/kernel/time/laws/channel_norm.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/laws/type_ratios.h"
#include "models/kernel/time/rates.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Times in us. What the constants are stands in law.cpp and with the laws of models/kernel/time.
struct PrecisionLaw {
  std::string name;

  double floor_us = 0;
  FloorAndShare cast_down, cast_up;
  double conv_floor_us = 0;
  LibraryProducts products;
  FloorAndShare attention_helper, attention_delta;
  double shared_keys_major = 0, shared_keys_width = 0;
  double clear_us = 0;
  double turned_floor_us = 0, turned_lane_cycles = 0, turned_sum_lane_cycles = 0;
  double applied_lane_cycles = 0;
  TypeRatios ratios;
  NormTimes norm;

  double unscale_dram_share = 0;
  double unscale_launch_elements = 0;

  // Host times in units of the trace's own launch calls: a slow host is slow at both.
  double cast_host_ratio = 0, cast_backward_host_ratio = 0;
  double scalar_host_ratio = 0;
  double helper_host_ratio = 0, turned_host_ratio = 0;
  double scalar_us = 0;
  double expected_error = 0;

  std::vector<Provenance> origins;
};

/// Reads configs/kernels/precision.json. Errors: InputError `file:key: found X, expected Y`.
PrecisionLaw load_precision_law(const std::string& path);

}  // namespace tandem
