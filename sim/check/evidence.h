// What all checks look at: a trace as it was understood, and what its steps have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/step/launches.h"
#include "sim/check/limits.h"
#include "sim/counters/match.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// Kernels of steps that launch the same ones in the same order.
struct RepeatedSteps {
  std::vector<std::size_t> steps;                   // into Links::steps
  std::vector<std::vector<std::uint32_t>> kernels;  // per such step: activities by position
};

/// A counter report and the step that it fits best.
struct MatchedCounters {
  CounterReport report;
  StepMatch match;
};

/// Refers to a run, which must outlive it.
struct Evidence {
  const TracedRun& run;
  const CheckLimits& limits;
  const MatchedCounters* counters;                  // null: none given
  std::optional<TraceLaunches> launches;            // of a GPU that a config describes
  std::vector<std::vector<std::uint32_t>> kernels;  // per step, in launch order
  std::vector<std::uint32_t> op_of_activity;        // innermost; no_row: none
  RepeatedSteps repeated;
  std::vector<bool> alone;  // per activity: nothing of another stream runs beside it
};

Evidence gather(const TracedRun& run, const CheckLimits& limits, const MatchedCounters* counters);

/// "ProfilerStep#3, 12.345 ms into the trace", for whatever begins at `time`.
std::string place_of(const Evidence& e, TimePoint time);
/// The same of a kernel, with its name.
std::string place_of_kernel(const Evidence& e, std::uint32_t activity);

}  // namespace tandem
