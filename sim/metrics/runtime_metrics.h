// What an eager runtime with a scheduling queue does in a step: its phases and its queue (thesis
// sections 3.3 and 3.4).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/step_metrics.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Of one isolated step. The shares of the five phases are of its time and sum to 1; where phases
/// overlap the first of this order counts: kernels of the GPU, of the CPU, dequeuing, copies,
/// waiting. A node is in the queue from the end of its enqueue until the executor takes it.
struct RuntimeMetrics {
  double gpu_kernel_share = 0;
  double cpu_kernel_share = 0;
  double dequeue_share = 0;
  double copy_share = 0;
  double waiting_share = 0;
  double overlap_share = 0;  // kernels of the GPU and of the CPU at once; no part of the sum
  double queue_busy_us = 0;
  double queue_empty_share = 0;
  double queue_mean_depth = 0;
  double queue_max_depth = 0;
  double enqueue_mean_us = 0;
  double dequeue_mean_us = 0;
  double gpu_kernel_mean_us = 0;
  double cpu_kernel_mean_us = 0;
  double waiting_while_loaded_share = 0;  // of the time in which the queue holds a node
  double waiting_while_loaded_no_copies_share = 0;
  double nodes = 0;
  double cpu_kernels = 0;
};

struct RuntimeMetricInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double RuntimeMetrics::*member;
};
std::span<const RuntimeMetricInfo> runtime_metric_infos();

/// Nothing where the plan has no nodes. `timeline`: of `plan`, which is one isolated step.
std::optional<RuntimeMetrics> runtime_metrics(const Trace& trace, const Plan& plan,
                                              const Timeline& timeline);

/// Nodes in the scheduling queue over time.
std::vector<QueueDepth> scheduling_queue(const Plan& plan, const Timeline& timeline);

}  // namespace tandem
