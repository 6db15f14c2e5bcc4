// The Result: everything a report prints, as plain values with described names and units.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/runtime/graph_capture.h"
#include "models/runtime/modes.h"
#include "models/runtime/step_plan.h"
#include "models/step/memory/peak_memory.h"
#include "models/whatif/transform_report.h"
#include "sim/core/error.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/runtime_metrics.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/bands.h"
#include "sim/trace/step_search.h"

namespace tandem {

inline constexpr std::string_view result_schema = "tandem.result/1";

/// What was read.
struct TraceSummary {
  std::string path;
  std::string format;
  Framework framework = Framework::unknown;
  std::string gpu;
  std::optional<std::int64_t> batch;  // leading dimension of the first layer's input
  std::int64_t passes = 1;            // with a batch each, to a step of the optimizer
  std::int64_t steps = 0;
  StepsBy steps_by = StepsBy::marks;
  double traced_step_us = 0;      // mean of the steps that the prediction follows, as measured
  double unprofiled_step_us = 0;  // predicted of the same step without what-ifs: without the
                                  // profiler, or with it where that is kept
  std::int64_t kernels = 0;
  std::int64_t launches = 0;
  std::int64_t host_ops = 0;
  std::int64_t streams = 0;
  int rank = 0;
  int world_size = 1;
  std::int64_t steps_followed = 0;  // those of the steps, alike, that the prediction is made from
  std::string followed_step;        // the last of them
};

/// What users may also write for a mode: the what-if "compile" in the traced mode.
inline constexpr std::string_view jit_alias = "jit";
/// What set_mode reads as this mode, with that what-if or without.
std::string_view mode_text(Mode mode, bool compiled);

/// What was asked for.
struct ScenarioSummary {
  std::string gpu;
  Mode mode = Mode::as_traced;
  bool compiled = false;  // by the what-if
  std::optional<std::int64_t> batch;
  std::int64_t passes = 1;
  std::string precision;
  Profiler profiler = Profiler::remove;
  std::string host;
  std::optional<GraphScope> graph_scope;  // what CUDA graphs capture, where the mode makes them

  /// As set_mode reads it.
  std::string_view mode_name() const;
  /// What a step works on: a batch in each of its passes.
  std::optional<std::int64_t> items() const;
};

/// "32", "16, 2 passes a step" or "unknown".
std::string batch_text(const std::optional<std::int64_t>& batch, std::int64_t passes);

/// Peak of the caching allocator. From measured peaks and the shapes of the parameters.
struct MemorySummary {
  double peak_bytes = 0;
  bool fits = false;
  std::int64_t largest_batch = 0;
  double low_bytes = 0;  // 90 % interval of the peak
  double high_bytes = 0;
  MemoryBasis basis = MemoryBasis::training;
  KeptParts kept;  // of the peak what stays from step to step; the rest are tensors of the step
  double tensors_bytes() const { return std::max(0.0, peak_bytes - kept.sum()); }
  /// Relative, half of the interval.
  double uncertainty() const { return (high_bytes - low_bytes) / 2 / peak_bytes; }
};

/// Energy of one step at the board; the parts sum to energy_j.
struct EnergySummary {
  double energy_j = 0;
  double average_power_w = 0;
  double error_j = 0;              // standard deviation
  double power_limited_share = 0;  // of the step, lost to the clock that the power limit allows
  /// Least energy of the step's data movement (thesis equation 5.3); no part of the sum.
  double lower_bound_data_movement_j = 0;
  double lower_bound_error_j = 0;
  double static_j = 0, dram_j = 0, l2_j = 0, l1_j = 0, shared_j = 0, compute_j = 0, tensor_j = 0,
         instructions_j = 0, other_j = 0;
  double estimated_share = 0;  // of the dynamic energy, from kernels without shapes
};

/// A number of EnergySummary as reports show it under "energy".
struct EnergyInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double EnergySummary::*member;
};
std::span<const EnergyInfo> energy_infos();

/// More samples than a job has, and a higher price than an hour has in any currency.
inline constexpr double most_of_a_job = 1e18;

/// What somebody asks a job to be: so many samples, at a price.
struct JobRequest {
  double samples = 0;             // 0: nobody asked
  double price_per_gpu_hour = 0;  // in any currency; 0: not said
};

/// What a job takes, step after step: nothing but its steps is in it.
struct JobCost {
  JobRequest job;
  int gpus = 1;                 // that share the samples
  double hours = 0;             // from begin to end
  std::optional<double> kwh;    // of the GPUs' boards alone, all of them
  std::optional<double> price;  // of all GPU hours
};

/// `batch`: samples of a step on each of `gpus`; `energy_j`: of a step at one board, if known.
JobCost job_cost(const JobRequest& job, double step_us, double batch, int gpus,
                 std::optional<double> energy_j);

/// What a rank does in the collectives of a step, run together with the others.
struct RankShare {
  int rank = 0;
  double time_us = 0;        // of a step
  double collective_us = 0;  // in collectives, waiting included
  double waiting_us = 0;     // of that, for the last rank to come
  double exposed_us = 0;     // in collectives while nothing computes
};

/// Ranks that were simulated together.
struct RanksSummary {
  double time_us = 0;       // of a step
  double skew_mean_us = 0;  // between the first and the last rank that comes to a collective
  double skew_worst_us = 0;
  std::vector<RankShare> ranks;
};

/// Work of a step that moves data: collectives, or copies between host and device.
struct MovedSummary {
  std::int64_t count = 0;
  double time_us = 0;
  double exposed_us = 0;  // while nothing computes
  double bytes = 0;
};

/// A CUDA graph that the step launches.
struct GraphSummary {
  std::int64_t nodes = 0;
  double device_us = 0;  // sum of its nodes
  /// What stands between it and the next graph, or the step's end: operations, or calls outside of
  /// any, that wait for the device or launch by themselves; each once, in order.
  std::vector<std::string> followed_by;
};

struct Result {
  // Copies and moves stand in result.cpp: every file would compile its own, kilobytes of it.
  Result();
  Result(const Result&);
  Result(Result&&) noexcept;
  Result& operator=(const Result&);
  Result& operator=(Result&&) noexcept;
  ~Result();

  TraceSummary trace;
  ScenarioSummary scenario;
  std::vector<StepFidelity> fidelity;
  StepMetrics step;
  StepLimit limited_by = StepLimit::balance;
  Band band;      // of time_us
  Band gpu_band;  // of gpu_kernel_us
  BandParts band_parts;
  std::optional<SpeedUp> speed_up;  // over the traced step; nothing where nothing was changed
  double expected_error = 0;        // half the width of the band over time_us
  std::vector<TimeShare> kernels;   // by time, longest first
  std::vector<TimeShare> ops;
  std::vector<TimeShare> layers;
  std::vector<TimeShare> modules;  // by time; empty where the trace does not know modules
  std::vector<PathShare> critical_path;
  std::vector<StepPart> parts;                // of the critical path; sum to the step's time
  std::optional<GpuMetrics> gpu_step;         // over the whole step, idle time included
  std::optional<GpuMetrics> gpu_kernel_time;  // over kernel time only
  std::optional<RuntimeMetrics> runtime;      // of runtimes that queue operations
  std::vector<FamilyShare> families;          // by time, longest first
  std::vector<UtilizationBin> smsp_issue_bins;
  std::vector<UtilizationBin> tc_issue_bins;
  std::optional<MemorySummary> memory;
  std::vector<TransformReport> what_ifs;  // in the order of application
  std::optional<EnergySummary> energy;
  std::optional<JobCost> job;                // where one was asked for
  std::optional<MovedSummary> collectives;   // of a rank by itself, others come when it does
  double input_wait_us = 0;                  // of a step for its input, or for its loader
  double input_critical_us = 0;              // that the step would be shorter without
  std::optional<MovedSummary> input_copies;  // from the host
  std::optional<RanksSummary> ranks;         // of several traces
  std::vector<GraphSummary> graphs;          // in the order of their launches
  double graph_captured_us = 0;              // device time of all of them
  std::uint64_t events = 0;
  LossList losses;
};

}  // namespace tandem
