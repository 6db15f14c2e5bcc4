// The what-ifs of a scenario, applied to a traced step before it is simulated.
#pragma once

#include <optional>
#include <vector>

#include "models/whatif/transform.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// The traced step as it would have been measured in the scenario.
struct Scenario : Rewritten {
  std::vector<TransformReport> what_ifs;  // what changed anything, in the order of application
  UntoldShare untold_capture = {};        // of the GPU time: what a graph's capture may find
};

/// Applies the what-ifs of `options`. `second`: another trace of the model that calibrates the
/// batch law, or null; Scenario::from_second says whose rows the step has. Errors: InputError where
/// the trace does not tell what a what-if needs, or for what cannot be.
Scenario make_scenario(const TracedRun& run, const TracedRun* second, const ReplayOptions& options);

}  // namespace tandem
