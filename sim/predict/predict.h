// The whole pipeline for one trace and one scenario, as a row of stages:
// TracedRun -> Scenario -> SimulatedStep -> counters -> energy -> Result.
#pragma once

#include <optional>
#include <vector>

#include "models/step/attribution.h"
#include "models/step/step.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/predict/result.h"
#include "sim/predict/scenario.h"
#include "sim/predict/traced_run.h"
#include "sim/trace/import.h"

namespace tandem {

/// What a scenario makes of a traced run.
struct Prediction {
  Step step;                                // of the scenario
  std::optional<GpuArch> target;            // the scenario's GPU
  std::vector<WorkCounters> step_counters;  // per activity of `step`; empty without target
  Plan isolated;                            // the step and a final synchronisation
  Timeline isolated_timeline;
  std::vector<DcgmShares> shares;  // per work of `isolated`; empty without target
  std::vector<BoardPower> power;   // of the board over `isolated`; empty without energy model
  Attribution step_attribution;
  Result result;
};

/// Everything that a report may want.
struct Replay {
  TracedRun run;
  Prediction prediction;
};

/// Errors, here and below: InputError for anything wrong with the trace, the configs or the
/// options.
Prediction predict(const TracedRun& run, const ReplayOptions& options);
/// From a scenario that was made of `run`.
Prediction predict(const TracedRun& run, Scenario scenario, const ReplayOptions& options);
/// From two traces of one model; `options` name a batch.
Prediction predict(const TracedRun& first, const TracedRun& second, const ReplayOptions& options);
/// From two traces of one model; the run whose rows the prediction has is kept.
Replay predict_from_two(TracedRun first, TracedRun second, const ReplayOptions& options);

Replay replay(const ReplayOptions& options);
/// The same for callers that predict often: with the configs of options.host, which they have read
/// (without the file that what-if "gpu" may name).
Replay replay(const ReplayOptions& options, Configs configs);
/// The same without the import, for callers that hold the trace already.
Replay replay(Trace trace, const ReplayOptions& options);

}  // namespace tandem
