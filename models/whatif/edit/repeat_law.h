// What it costs the host to compute layers again, and what steps with repeated parts are off by.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields/provenance.h"

namespace tandem {

/// Host times in launch calls of the trace, under the profiler. A saved tensor is one that a
/// gradient of the layer reads.
struct RepeatLaw {
  std::string name;
  double layer_forward = 0;   // of a layer that is to be computed again, when it runs first
  double layer_again = 0;     // ... and before it runs again
  double saved_forward = 0;   // for each tensor that it would save, when it runs first,
  double saved_again = 0;     // when it runs again
  double saved_backward = 0;  // and when its gradient asks for it
  double bare = 0;            // share of these that is Python alone, which no profiler slows
  double between_runs = 0;    // relative, of the GPU time of one program
  double of_sums = 0;         // relative, of the time in which gradients are added up
  std::vector<Provenance> origins;
};

/// Errors: InputError `file:key: found X, expected Y`.
RepeatLaw load_repeat_law(const std::string& path);

}  // namespace tandem
