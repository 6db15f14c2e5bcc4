// The Result: everything a report prints, as plain values with described names and units.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/step_metrics.h"

namespace tandem {

inline constexpr std::string_view result_schema = "tandem.result/1";

/// What was read.
struct TraceSummary {
  std::string path;
  std::string format;
  std::string framework;
  std::string gpu;
  std::optional<std::int64_t> batch;  // leading dimension of the first layer's input
  std::int64_t steps = 0;
  std::int64_t kernels = 0;
  std::int64_t launches = 0;
  std::int64_t host_ops = 0;
  std::int64_t streams = 0;
  int rank = 0;
  int world_size = 1;
};

/// What was asked for.
struct ScenarioSummary {
  std::string gpu;
  std::string mode;
  std::optional<std::int64_t> batch;
  std::string precision;
  std::string profiler;
  std::string host;
};

/// Peak of the caching allocator. From measured peaks and the shapes of the parameters.
struct MemorySummary {
  double peak_bytes = 0;
  bool fits = false;
  std::int64_t largest_batch = 0;
  double uncertainty = 0;  // relative, of the part that grows with the batch
};

/// How far a batch what-if can be trusted; shares are of the predicted GPU time.
struct BatchConfidenceSummary {
  double factor = 1;  // new batch / nearest traced batch
  bool extrapolated = true;
  double affine_share = 0;    // kernels without a model: floor plus proportional part
  double switch_share = 0;    // kernels for which the library likely chooses another algorithm
  double expected_error = 0;  // relative, of the GPU time
};

/// What another precision makes of the step, before batch, compiler and GPU; shares are of the
/// predicted GPU time.
struct PrecisionSummary {
  std::string from, to;
  std::int64_t casts_added = 0, casts_removed = 0, kernels_retyped = 0;
  double switch_share = 0;       // the libraries pick other kernels
  double unmodelled_share = 0;   // operations without a law of their own
  double item_memory_ratio = 1;  // bytes of activations over those in the traced precision
  double expected_error = 0;     // relative, of the GPU time
};

/// What another GPU, or other numbers of the traced one, make of the step.
struct RetargetSummary {
  std::string from;
  std::int64_t added = 0, dropped = 0;  // kernels
  double changed_share = 0;             // another algorithm or type of arithmetic
  double unmodelled_share = 0;          // keep their time for want of a model
  double expected_error = 0;            // relative, of the GPU time
};

/// A kernel that a compiler generates, and the operations whose work it does.
struct FusedKernelSummary {
  std::string name;
  std::size_t operations = 0;
  double bytes = 0;  // read and written
  double time_us = 0;
};

/// What a compiler makes of the step, before GPU and mode are applied.
struct FusionSummary {
  std::string compiler, attention;
  std::vector<FusedKernelSummary> kernels;
  std::size_t kernels_before = 0, kernels_after = 0;
  double gpu_before_us = 0, gpu_after_us = 0;
  double bytes_before = 0, bytes_after = 0;  // operands of the memory-bound operations
  double host_before_us = 0, host_after_us = 0;
  double layout_us = 0;  // of gpu_before_us, saved by channels-last order
  double attention_keep_us = 0, attention_math_us = 0;  // GPU time in either case
  double unknown_share = 0;   // of the GPU time, in operations without shapes
  double expected_error = 0;  // relative, of the GPU time
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

struct Result {
  TraceSummary trace;
  ScenarioSummary scenario;
  std::vector<StepFidelity> fidelity;
  StepMetrics step;
  std::string limited_by;     // "gpu", "host" or "balance", from the critical path
  double expected_error = 0;  // relative, of time_us, from the validation cases nearest to this
  std::vector<TimeShare> kernels;  // by time, longest first
  std::vector<TimeShare> ops;
  std::vector<TimeShare> layers;
  std::vector<PathShare> critical_path;
  std::optional<GpuMetrics> gpu_step;         // over the whole step, idle time included
  std::optional<GpuMetrics> gpu_kernel_time;  // over kernel time only
  std::vector<FamilyShare> families;          // by time, longest first
  std::vector<UtilizationBin> smsp_issue_bins;
  std::vector<UtilizationBin> tc_issue_bins;
  std::optional<MemorySummary> memory;
  std::optional<BatchConfidenceSummary> batch;  // only with another batch
  std::optional<PrecisionSummary> precision;    // only in another precision
  std::optional<FusionSummary> fusion;          // only in mode jit
  std::optional<RetargetSummary> retarget;      // only on another GPU
  std::optional<EnergySummary> energy;
  double graph_captured_us = 0;  // device time behind the graph launch in mode cuda-graph
  std::uint64_t events = 0;
  LossList losses;
};

}  // namespace tandem
