// The whole pipeline for one trace and one scenario: import, link, plan, simulate, measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/runtime/host_model.h"
#include "models/runtime/measured_plan.h"
#include "models/runtime/modes.h"
#include "models/step/step.h"
#include "models/whatif/batch/peak_memory.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/attribution.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/predict/configs.h"
#include "sim/predict/result.h"
#include "sim/trace/import.h"
#include "sim/trace/links.h"

namespace tandem {

struct ReplayOptions {
  std::string trace_path;
  std::string base_path;              // a second trace of the same model at another batch
  std::optional<std::int64_t> batch;  // predict this batch; nothing: as traced
  std::string precision;              // fp32, tf32, amp or bf16; empty: as traced
  std::string gpu;                    // config name; empty: the one that matches the trace
  std::string host = "default";
  ModeOptions mode;
  std::string compiler = "inductor";  // of mode jit; or "xla", "torchscript"
  std::string attention = "keep";     // under the compiler; or "math"
  Profiler profiler = Profiler::remove;
  std::string cache = "warm";          // or "cold": flushed before every kernel
  std::string counters_path;           // Nsight Compute CSV; empty: the kernel model alone
  std::string configs;                 // folder with gpus/, hosts/ and kernels/
  std::vector<std::string> overrides;  // "gpu.sm_count=160"
  ImportOptions import;
};

/// What a trace says, whatever the scenario: computed once, shared by many predictions, also from
/// several threads. `measured` refers to rows of `trace`.
struct Analysis {
  Configs configs;
  Trace trace;
  Links links;
  std::optional<GpuArch> gpu;  // the traced device, if a config describes it
  TracedPool pool;             // how streams shared the SMs in the trace
  MeasuredPlan measured;
  Timeline measured_timeline;
  std::optional<Attribution> attribution;
  /// Per activity: measured counters where a report holds them, else the kernel model; empty
  /// without gpu.
  std::vector<WorkCounters> counters;
  std::vector<WorkCounters> model_counters;  // the kernel model's, where a report replaced some
  Step traced_step;                          // what scenarios start from
  double shape_item_bytes = 0;       // activations of an item, from shapes alone; with memory
  std::optional<PeakMemory> memory;  // by batch, where the capture states its peak
  TraceSummary summary;
  std::vector<StepFidelity> fidelity;
  LossList losses;
};

/// What a scenario makes of it.
struct Prediction {
  Step step;                                // of the scenario
  std::optional<GpuArch> target;            // the scenario's GPU
  std::vector<WorkCounters> step_counters;  // per activity of `step`; empty without target
  Plan isolated;                            // the step and a final synchronisation
  Timeline isolated_timeline;
  std::vector<DcgmShares> shares;  // per work of `isolated`; empty without target
  std::vector<BoardPower> power;   // of the board over `isolated`; empty without energy model
  std::optional<Attribution> step_attribution;
  Result result;
};

/// Everything that a report may want.
struct Replay : Analysis, Prediction {};

/// Errors: InputError for anything wrong with the trace, the configs or the options.
Analysis analyse(Trace trace, const ReplayOptions& options);
Prediction predict(const Analysis& analysis, const ReplayOptions& options);
/// From two traces of one model; `options` name a batch.
Prediction predict(const Analysis& first, const Analysis& second, const ReplayOptions& options);
/// From two traces of one model; the analysis of the one whose rows the prediction has is kept.
Replay predict_from_two(Analysis first, Analysis second, const ReplayOptions& options);

Replay replay(const ReplayOptions& options);
/// The same without the import, for callers that hold the trace already.
Replay replay(Trace trace, const ReplayOptions& options);

}  // namespace tandem
