// The last stage of a prediction: everything that was simulated, as one Result.
#pragma once

#include <optional>

#include "sim/predict/predict.h"
#include "sim/predict/stages/simulated_step.h"

namespace tandem {

/// `p`: a prediction that lacks its result. `energy`: of its step. Losses are left to the caller.
Result make_result(const TracedRun& run, const Scenario& scenario, const ReplayOptions& options,
                   const SimulatedStep& simulated, const std::optional<EnergySummary>& energy,
                   const LossList& losses, const Prediction& p);

}  // namespace tandem
