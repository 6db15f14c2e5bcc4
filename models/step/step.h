// One representative step with a trace of its own: what every what-if rewrites, and what modes,
// engine and metrics read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/runtime/step_plan.h"
#include "models/step/step_kernels.h"
#include "sim/core/error.h"
#include "sim/engine/plan.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Everything inside refers to `trace` and `plan` of the same object.
struct Step {
  // Copies and moves stand in step.cpp: every file would compile its own, kilobytes of it.
  Step();
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();

  Trace trace;  // only the rows of this step; activities last as long as in the mean step
  Links links;
  /// What the activities are: of the traced ones read off their names once, of the others stated by
  /// the what-if. Names are for display from here on.
  StepKernels kernels;
  Plan plan;  // HostItem::source: row of trace.calls, DeviceWork::source: row of trace.activities
  /// Per activity: its row in the measured trace, or no_row for what a what-if added.
  std::vector<std::uint32_t> traced_activity;
  std::string name;            // of the traced step it follows
  std::size_t steps_used = 0;  // traced steps with the same items that it was averaged over
};

/// Cuts the rows that `step` refers to, and the operations around them, out of `trace`.
Step cut_step(const Trace& trace, const Links& links, StepPlan step);

/// Sum of the durations of its works.
double gpu_us(const Step& step);
/// The same of some of them.
double works_us(const Step& step, std::span<const std::uint32_t> works);

/// Makes the durations of the plan those of the activities.
void retime_plan(Step& step);

}  // namespace tandem
