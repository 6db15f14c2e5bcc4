// Result and timelines as text, JSON, CSV and Perfetto timeline. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <span>
#include <string>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/step_metrics.h"
#include "sim/metrics/work_names.h"
#include "sim/predict/result.h"

namespace tandem {

/// The answer in about ten lines, then the tables behind it.
std::string summary_text(const Result& result);

/// "1.28e+06 samples: 0.17 h, 0.065 kWh of the GPU's board alone, price 0.52" without what nobody
/// knows.
std::string job_text(const JobCost& cost);
/// The same; null is what nobody knows.
nlohmann::ordered_json job_json(const JobCost& cost);

/// One object of schema result_schema; `tandem describe metric` explains its numbers.
nlohmann::ordered_json result_json(const Result& result);

/// A plan with its timeline, as the timeline writers need it; it refers to rows of `trace`. What is
/// empty is unknown.
struct SimulatedRun {
  const Trace& trace;
  const Plan& plan;
  const Timeline& timeline;
  std::span<const DcgmShares> shares = {};  // per work of the plan
  std::span<const BoardPower> power = {};   // over the timeline
  WorkNames names = {};
  std::span<const WorkCounters> counters = {};  // per activity of the trace
  GpuScale gpu = {};                            // that the counters are of
  std::span<const PathLink> path = {};          // critical path of the timeline
};

/// A block of one kernel on its SM.
struct BlockSlice {
  std::uint32_t block = 0;
  std::uint16_t sm = 0, slot = 0;
  double begin_us = 0, end_us = 0;
};
/// Chrome JSON: a group of tracks per SM, one track for each of its block slots, and the number
/// of resident blocks over time.
void write_block_timeline(std::ostream& out, std::string_view kernel,
                          std::span<const BlockSlice> blocks);

/// A run for the table of kernels.
struct KernelTable {
  std::string_view run;  // "traced" or "scenario"
  const SimulatedRun& simulated;
  WorkNames names;
  std::span<const WorkCounters> counters;      // per activity of the run's trace; empty: unknown
  std::span<const std::uint32_t> traced_rows;  // its rows in the measured trace; empty: the same
};

/// One row per kernel, copy and memset of each run: what it is, when it ran in the trace and in the
/// simulation, and what it uses of the GPU (see kernel_use()). Times in microseconds after the
/// trace's origin, or after the begin of the scenario's step. Fields that are unknown are empty.
void write_kernels_csv(std::ostream& out, const Trace& measured, const GpuScale& gpu,
                       std::span<const KernelTable> runs);

/// Chrome JSON of which Perfetto keeps every event: traced and re-simulated tracks of the whole
/// trace side by side, the scenario's isolated step on a clock of its own, each with operations and
/// user ranges on its host tracks, an arrow from each launch to what it launched, and the critical
/// path; and counters for queue depth, busy streams and, where the GPU is known, DCGM's GRACT,
/// SMACT, SMOCC, TENSO and DRAMA over time, in percent, and the board's power.
void write_timeline(std::ostream& out, const SimulatedRun& measured, const SimulatedRun& scenario,
                    std::span<const SimulatedRun> ranks = {});

/// A run and what its tracks are called.
struct NamedRun {
  std::string name;
  const SimulatedRun& run;
};

/// The same of several runs of one step, side by side, each from its own begin on.
void write_side_by_side(std::ostream& out, std::span<const NamedRun> runs);

}  // namespace tandem
