// The page of a replayed trace or of a generated step.
#pragma once

#include <span>
#include <string_view>

#include "sim/metrics/critical_path.h"
#include "sim/report/html/page.h"
#include "sim/report/report.h"

namespace tandem::html {

/// A result with the run of its step, which the timeline shows.
struct ResultView {
  const Result& result;
  const SimulatedRun& step;  // one step by itself
  WorkNames names;
  std::span<const std::string_view> op_of_call;  // per call of the step's trace
  std::span<const WorkCounters> counters;        // per activity of the step's trace; or empty
  std::span<const PathLink> path;                // the critical path of `step`
  GpuScale gpu;                                  // zeros: unknown
};

/// The answer; levels of utilization, distribution of issue slots, roofline; timeline; critical
/// path; tables of kernels, operations, layers and families; energy; how sure all that is.
Page result_page(const ResultView& view);

}  // namespace tandem::html
