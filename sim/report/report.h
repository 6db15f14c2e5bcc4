// Result and timelines as text, JSON, CSV and Perfetto timeline. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <span>
#include <string>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/attribution.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/result.h"
#include "sim/metrics/step_metrics.h"

namespace tandem {

/// The answer in about ten lines, then the tables behind it.
std::string summary_text(const Result& result);

/// One object as design.md section 5 lists it; see also `tandem describe metric`.
nlohmann::ordered_json result_json(const Result& result);

/// A plan with its timeline, as the timeline writers need it; it refers to rows of `trace`.
struct SimulatedRun {
  const Trace& trace;
  const Plan& plan;
  const Timeline& timeline;
  std::span<const DcgmShares> shares = {};  // per work of the plan; empty: unknown
};

/// One row per kernel, copy and memset of the trace: what it is, when it ran, when the
/// re-simulation ran it. Times in microseconds after the trace's origin.
void write_kernels_csv(std::ostream& out, const Trace& trace, const Attribution& attribution,
                       const SimulatedRun& measured);

/// Chrome JSON that Perfetto loads: traced and re-simulated tracks of the whole trace side by side,
/// the scenario's isolated step, and counters for queue depth, busy streams and, where the GPU is
/// known, DCGM's GRACT, SMACT, SMOCC, TENSO and DRAMA over time, in percent.
void write_timeline(std::ostream& out, const Trace& trace, const SimulatedRun& measured,
                    const SimulatedRun& scenario);

}  // namespace tandem
