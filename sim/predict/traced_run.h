// A trace, read and understood: what all predictions from it share.
#pragma once

#include <optional>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/runtime/measured_plan.h"
#include "models/step/attribution.h"
#include "models/step/memory/peak_memory.h"
#include "models/step/step.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/predict/configs.h"
#include "sim/predict/options.h"
#include "sim/predict/result.h"
#include "sim/trace/device_clock.h"
#include "sim/trace/links.h"

namespace tandem {

/// The same peak where a compiler decides what is kept.
struct CompiledPeaks {
  PeakMemory cheapest;  // saves what is cheapest
  PeakMemory least;     // saves no more than it must
};

/// What a trace says, whatever the scenario: computed once, shared by many predictions, also from
/// several threads. `measured` refers to rows of `trace`.
struct TracedRun {
  // Copies and moves stand in traced_run.cpp: every file would compile its own, kilobytes of it.
  TracedRun();
  TracedRun(const TracedRun&);
  TracedRun(TracedRun&&) noexcept;
  TracedRun& operator=(const TracedRun&);
  TracedRun& operator=(TracedRun&&) noexcept;
  ~TracedRun();

  Configs configs;
  Trace trace;
  Links links;
  std::optional<GpuArch> gpu;  // the traced device, if a config describes it
  bool states_grids = true;    // of most kernel time
  TracedPool pool;             // how streams shared the SMs in the trace
  MeasuredPlan measured;
  Timeline measured_timeline;
  Attribution attribution;
  /// Per activity: measured counters where a report holds them, else the kernel model; empty
  /// without gpu.
  std::vector<WorkCounters> counters;
  std::vector<WorkCounters> model_counters;  // the kernel model's, where a report replaced some
  Step traced_step;                          // what scenarios start from
  bool step_is_measured = false;             // the host was calibrated on a step that was timed
  double generated_error = 0;  // of a step that was never traced: relative, of its GPU time
  bool is_generated() const { return generated_error > 0; }  // nothing of the step was measured
  double said_peak_bytes = 0;                    // of the traced run, by the user; 0: not said
  std::optional<PeakMemory> memory;              // by batch; nothing where the trace has no shapes
  std::optional<CompiledPeaks> compiled_memory;  // of a network
  BandParts base_band;                           // of that step, before any what-if
  TraceSummary summary;
  std::vector<StepFidelity> fidelity;
  std::vector<ClockOffset> clock_offsets;  // of devices whose times were moved
  LossList losses;
};

/// Of the host and the GPU that `options` name.
Configs load_configs(const ReplayOptions& options);

/// The first half of analyse(): links, plans and re-simulates the trace as it was measured.
TracedRun measure(Trace trace, const ReplayOptions& options, Configs configs);
/// The second: the step that scenarios start from, out of `plan`, the measured one without the
/// times in which collectives waited for other ranks.
void find_step(const MeasuredPlan& plan, const ReplayOptions& options, TracedRun& run);
/// What scenarios are compared with: `step` in a loop, the traced one alone or among other ranks.
void find_base(Profiler profiler, const Step& step, TracedRun& run);

/// Links, plans and re-simulates the trace as it was measured. Errors: InputError for anything
/// wrong with the trace, the configs or the options.
TracedRun analyse(Trace trace, const ReplayOptions& options);
/// The same with configs that the caller has read. `generated_error`: of a step that was never
/// traced, else 0.
TracedRun analyse(Trace trace, const ReplayOptions& options, Configs configs,
                  double generated_error = 0);

}  // namespace tandem
