// Timelines of a step -> its metrics and the time shares of kernels, operations and layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/kernel_levels.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Metrics of one steady-state step of the scenario. Times in microseconds, ratios 0..1.
struct StepMetrics {
  double time_us = 0;
  double throughput_per_s = 0;
  double gpu_kernel_us = 0;
  double gpu_busy_us = 0;
  double gpu_utilization = 0;
  double gract = 0;
  std::int64_t launches = 0;
  std::int64_t kernels = 0;
  double enqueue_us = 0;
  double dequeue_us = 0;
  double host_wait_us = 0;
  double isolated_time_us = 0;
  double phase_gpu_kernel_us = 0;
  double phase_dequeue_us = 0;
  double phase_copy_us = 0;
  double wait_us = 0;
  double queue_mean_depth = 0;
  double queue_max_depth = 0;
  double queue_empty_share = 0;
};

/// Name, unit and meaning of one member of StepMetrics, for reports and `describe metric`.
struct MetricInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double (*value)(const StepMetrics&);
};
std::span<const MetricInfo> step_metric_infos();

/// Device time of one step that shares a name (kernel, operation, type of layer).
struct TimeShare {
  std::string name;
  std::int64_t count = 0;
  double time_us = 0;
  double share = 0;     // of gpu_kernel_us
  double energy_j = 0;  // dynamic; 0 where the GPU has no energy model
  std::optional<KernelLevels> levels = std::nullopt;  // not of copies, on a known GPU
  // Of kernels: the operation and the type of layer of most of them.
  std::string op = {};
  std::string layer = {};
};

/// One step of the trace, re-simulated as it was measured. Its span runs from the begin of the
/// profiler's annotation to the annotation's end or the end of the last device work launched in it.
struct StepFidelity {
  std::string name;
  double traced_us = 0;
  double simulated_us = 0;
};

/// One point of the queue-depth curve.
struct QueueDepth {
  TimePoint time;
  std::int64_t depth = 0;
};

/// Changes of a depth, in any order, as the depth from each of them on. At one time leaving comes
/// before entering.
std::vector<QueueDepth> curve_of(std::vector<QueueDepth> changes);

/// Launches that the device could run but has not started: submitted, latency over, not begun.
std::vector<QueueDepth> queue_depth(const Plan& plan, const Timeline& timeline);

/// `step` is one step, `steady` the timeline of `count` copies of it with period `period`,
/// `isolated_plan` / `isolated` one copy with a final synchronisation.
StepMetrics step_metrics(const Trace& trace, const Plan& step, const Timeline& steady,
                         std::size_t count, Duration period, const Plan& isolated_plan,
                         const Timeline& isolated);

/// Device time of the step by name, longest first. `names`: per activity of the step's trace, of
/// its kernel, operation or type of layer; `energy_j`: per work of the step, or empty.
std::vector<TimeShare> time_shares(const Plan& step, std::span<const std::string_view> names,
                                   std::span<const double> energy_j = {});

/// Spans of the steps of the measured plan, traced and re-simulated.
struct MeasuredSpan {
  std::string name;
  std::uint32_t first_item = 0;
  std::uint32_t end_item = 0;
};
std::vector<StepFidelity> fidelity(const Trace& trace, const Links& links, const Plan& plan,
                                   const std::vector<MeasuredSpan>& steps,
                                   const Timeline& timeline);

}  // namespace tandem
