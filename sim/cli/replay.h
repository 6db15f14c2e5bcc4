// The whole pipeline for one trace and one scenario: import, link, plan, simulate, measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/runtime/host_model.h"
#include "models/runtime/measured_plan.h"
#include "models/runtime/modes.h"
#include "models/runtime/step_plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/attribution.h"
#include "sim/metrics/result.h"
#include "sim/trace/import.h"
#include "sim/trace/links.h"

namespace tandem {

struct ReplayOptions {
  std::string trace_path;
  std::string gpu;  // config name; empty: the one that matches the trace
  std::string host = "default";
  ModeOptions mode;
  Profiler profiler = Profiler::remove;
  std::string configs;                 // folder with gpus/ and hosts/
  std::vector<std::string> overrides;  // "gpu.sm_count=160"
  ImportOptions import;
};

/// Everything that a report may want. Plans refer to rows of `trace`.
struct Replay {
  Trace trace;
  Links links;
  MeasuredPlan measured;
  Timeline measured_timeline;
  Plan isolated;  // one step of the scenario and a final synchronisation
  Timeline isolated_timeline;
  Result result;
};

/// Errors: InputError for anything wrong with the trace, the configs or the options.
Replay replay(const ReplayOptions& options);

/// The same without the import, for callers that hold the trace already.
Replay replay(Trace trace, const ReplayOptions& options);

}  // namespace tandem
