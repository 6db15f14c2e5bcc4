// Counters of matched kernels -> utilizations of kernels and of the step, and match rates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/counters/match.h"

namespace tandem {

/// Counter values of one kernel, or sums of several; `absent` where there is none.
using CounterValues = std::array<double, counter_count>;

/// Means over the rows of a kernel.
CounterValues mean_counters(const CounterReport& report, std::span<const std::uint32_t> rows);

/// Issue <= active <= elapsed, where passes of the profiler differ or one is measured and another
/// modelled: the larger one holds. What is `absent` stays so. True if they contradict each other by
/// more than passes differ.
struct CycleLevels {
  double& elapsed;
  double& active;
  double& issue;
  double tc_active;
  double tc_issue;
};
bool put_in_order(CycleLevels levels);
bool put_in_order(CounterValues& counters);

/// Counts as a warning, "counters_contradict", kernels of which put_in_order() says so.
void count_contradicting(std::int64_t kernels, LossList& losses);

/// Shares of SMSP cycles, 0..1; `absent` if the report does not hold the counters.
struct Utilization {
  double smsp_active = absent;  // at least one warp resident
  double smsp_issue = absent;   // an instruction issued
  double tc_active = absent;    // tensor pipe active
  double tc_issue = absent;     // tensor-core warp instruction issued
};

/// Over the cycles that elapsed in the kernel.
Utilization utilization_of(const CounterValues& counters);

/// How much of a step is matched. Times of the trace unless said otherwise.
struct MatchSummary {
  std::int64_t kernels = 0;
  std::int64_t matched = 0;  // exact or similar
  std::int64_t exact = 0;
  std::int64_t substituted = 0;  // another kernel ran in the place; not matched
  double kernel_us = 0;
  double matched_us = 0;
  std::int64_t rows = 0;  // of the report
  std::int64_t rows_matched = 0;
  double rows_us = 0;  // as Nsight Compute timed them
  double rows_matched_us = 0;
  std::int64_t iterations = 0;
  std::int64_t contradicting = 0;  // kernels matched whose cycles were not in order
  double step_us = 0;              // time of the step

  double profiled_clock_ghz = absent;  // SM clock under Nsight Compute
  double implied_clock_ghz = absent;   // cycles counted / traced time: what the step's time is
                                       // turned into cycles with
  CounterValues sums;                  // over matched kernels
  Utilization kernel_time;             // over the cycles of the matched kernels
  /// Over the cycles of the whole step, idle ones included: counters / (step_us x clock x SMSPs).
  /// Kernels without counters count as idle: a lower bound unless all are matched.
  Utilization step;
};

/// `step_us`: time of the step that its cycles are counted over; default: its period in the trace,
/// which the profiler makes longer.
MatchSummary summarize(const Trace& trace, const Links& links, const CounterReport& report,
                       const StepMatch& match, std::optional<double> step_us = {});

/// The kernels of the step that share a label, e.g. a type of layer.
struct GroupUtilization {
  std::string label;
  std::int64_t kernels = 0;
  std::int64_t matched = 0;
  double kernel_us = 0;
  double matched_us = 0;
  Utilization kernel_time;
};

/// `labels` stands parallel to StepMatch::kernels. Longest first.
std::vector<GroupUtilization> utilization_by(const Trace& trace, const CounterReport& report,
                                             const StepMatch& match,
                                             std::span<const std::string_view> labels);

}  // namespace tandem
