// How long the data of a measured collective moved, apart from waiting for the other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/collective/collective_law.h"
#include "models/runtime/measured_plan.h"
#include "sim/core/error.h"
#include "sim/trace/trace.h"

namespace tandem {

/// The works of one step that are collectives, in the order in which they were launched.
std::vector<std::uint32_t> collectives_of(const Plan& plan, const PlanStep& step);

/// Makes the collectives of `run` last as long as their data moves: as measured where that is what
/// the law says of their size, else what the law says, times what the trace's shortest ones take
/// over it. Of other ranks nothing is known, so they are taken to come at the same time. `gpu`:
/// null: unknown, they stay. Counts in `losses` what could not be told.
void remove_waits(const Trace& trace, const GpuArch* gpu, const CollectiveLaw& law,
                  MeasuredPlan& run, LossList& losses);

/// A traced rank of several.
struct MeasuredRank {
  const Trace& trace;
  MeasuredPlan& run;
};

/// The same where all ranks were traced: data moves from when the last of them came, and that one
/// waits for nobody. What only one trace has is left as it is. False for traces whose steps have no
/// collective in common.
bool remove_waits(std::span<const MeasuredRank> ranks);

}  // namespace tandem
