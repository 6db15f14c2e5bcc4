// A step in its mode, run by the engine: in a loop of such steps, and once alone.
#pragma once

#include <string>
#include <vector>

#include "models/step/attribution.h"
#include "models/step/launches.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/scenario.h"

namespace tandem {

struct SimulatedStep {
  Plan plan;                             // of the step; works last as they do in the loop
  std::vector<WorkCounters> counters;    // per activity of the step; empty without a GPU
  StepMetrics metrics;                   // of the loop; no throughput
  std::vector<PathShare> critical_path;  // of one period of the loop
  std::vector<StepPart> parts;           // of the same path
  Plan isolated;                         // the step and a final synchronisation
  Timeline isolated_timeline;
  double input_wait_us = 0;  // of a step of the loop, for its input
  std::uint64_t events = 0;
};

/// Counters of the kernel model for a step that was changed, and where the trace's own were
/// measured, times measured over model. The trace's own for one that was not.
std::vector<WorkCounters> step_counters(const TracedRun& run, const Scenario& scenario,
                                        const Step& step, const TraceLaunches& launches,
                                        const ReplayOptions& options);

/// Microseconds of a step in a loop of such steps. `plan`: of a SimulatedStep.
double loop_us(const Plan& plan, const HostModel& host);
/// The same on a host whose time is `factor` times as long.
double loop_us(Plan plan, const HostModel& host, double factor);

/// `counters`: of the step; they tell how kernels of several streams share the SMs.
SimulatedStep simulate_step(const TracedRun& run, const Step& step, const Attribution& attribution,
                            std::vector<WorkCounters> counters);

/// Plan of `step`, the one that scenarios start from, as it runs in a loop.
Plan traced_loop(const TracedRun& run, const Step& step);

}  // namespace tandem
