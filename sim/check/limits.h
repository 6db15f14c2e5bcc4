// From where on a measurement is doubtful or wrong: configs/checks.json.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Each number's unit and source stand in the file.
struct CheckLimits {
  std::string name;
  double clock_tolerance_us = 0;
  double silent_end = 0;
  double drift_ppm = 0;
  double drift_us = 0;
  double drift_errors = 0;
  double lost_share = 0;
  double warm_up = 0;
  double warm_up_of_two = 0;
  double warm_up_wrong = 0;
  double host_noise = 0;
  double profiler_note = 0;
  double profiler_share = 0;
  double overlap_us = 0;
  double overlap_share = 0;
  double physics_margin = 0;
  double l2_peak_factor = 0;
  double physics_floor_us = 0;
  double slow_stretch = 0;
  double slow_stretch_wrong = 0;
  double stretch_share = 0;
  double stretch_kernels = 0;
  double unlike_repeats = 0;
  double unlike_least_us = 0;
  double model_share = 0;
  double model_least_us = 0;
  double slower_than_model = 0;
  double slower_than_model_wrong = 0;
  double slow_choice = 0;
  double slow_choice_us = 0;
  double slow_choice_share = 0;
  double counters_clock = 0;
  std::vector<Provenance> origins;
};

/// Errors: InputError `file:key: found X, expected Y`.
CheckLimits load_check_limits(const std::string& path);

}  // namespace tandem
