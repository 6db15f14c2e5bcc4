// From a measured run to one representative step, and from one step to a steady state.
#pragma once

#include "models/runtime/host_model.h"
#include "models/runtime/measured_plan.h"
#include "sim/core/named.h"
#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What becomes of the profiler's cost in a trace.
enum class Profiler : std::uint8_t { remove, keep };
inline constexpr Named<Profiler> profilers[] = {{Profiler::remove, "remove"},
                                                {Profiler::keep, "keep"}};

/// One step as a Plan of its own; everything it refers to lies inside.
struct StepPlan {
  Plan plan;
  std::string name;                   // of the traced step it follows
  std::size_t steps_used = 0;         // traced steps with the same items that it was averaged over
  std::vector<std::size_t> followed;  // these, of MeasuredPlan::steps
  LossList losses;
};

/// Whether steps that launch so much device work are of different kinds, as an evaluation among
/// training steps, and no variants of each other.
constexpr bool of_another_kind(double works, double others) {
  return 2 * others < works || others > 2 * works;
}

/// The step that most traced steps agree with; of equally many, one whose launches have their
/// kernels, then one that lacks no device work. Steps whose sequence of calls and kernels is
/// equal are aligned: durations are their means. `Profiler::keep` takes mean host times; `remove`
/// takes gap_scale_aligned x the minimum gap, and the launch and sync calls of the HostModel.
StepPlan step_plan(const Trace& trace, const MeasuredPlan& measured, const HostModel& host,
                   Profiler profiler);

/// `count` copies of the step one after the other and a final device-wide synchronisation.
Plan repeat(const Plan& step, std::size_t count, const HostModel& host);

/// Period of the last copies of a repeated step: the mean distance between the times at which
/// copies `count / 2` and `count - 1` were complete on host and device.
Duration steady_period(const Plan& step, const Timeline& repeated, std::size_t count);

}  // namespace tandem
