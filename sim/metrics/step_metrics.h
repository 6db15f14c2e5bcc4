// Timelines of a step -> its metrics and the time shares of kernels, operations and layers.
#pragma once

#include <span>
#include <vector>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/attribution.h"
#include "sim/metrics/result.h"

namespace tandem {

/// One point of the queue-depth curve.
struct QueueDepth {
  TimePoint time;
  std::int64_t depth = 0;
};

/// Launches that the device could run but has not started: submitted, latency over, not begun.
std::vector<QueueDepth> queue_depth(const Plan& plan, const Timeline& timeline);

/// `step` is one step, `steady` the timeline of `count` copies of it with period `period`,
/// `isolated_plan` / `isolated` one copy with a final synchronisation.
StepMetrics step_metrics(const Trace& trace, const Plan& step, const Timeline& steady,
                         std::size_t count, Duration period, const Plan& isolated_plan,
                         const Timeline& isolated);

/// Device time of the step by kernel, operation or layer name, longest first. `energy_j`: per work
/// of the step, or empty.
enum class GroupBy : std::uint8_t { kernel, op, layer };
std::vector<TimeShare> time_shares(const Trace& trace, const Plan& step,
                                   const Attribution& attribution, GroupBy by,
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

/// Leading dimension of the input of the first convolution, embedding or linear layer of the first
/// step; nothing if the trace has no shapes.
std::optional<std::int64_t> batch_size(const Trace& trace, const Links& links);

}  // namespace tandem
