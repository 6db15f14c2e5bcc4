// What the device work of a trace asks of the board.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/energy/energy_work.h"
#include "models/step/launches.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// The works of some activities of a trace, as they ran there. begin_us counts from `origin`.
std::vector<EnergyWork> energy_works(const Trace& trace, const TraceLaunches& launches,
                                     const GpuArch& gpu, const CostConstants& costs,
                                     const WorkRules& rules,
                                     std::span<const std::uint32_t> activities, TimePoint origin);

/// Activities whose launching call lies in the step. Work launched before the profiled steps is in
/// none of them.
std::vector<std::uint32_t> activities_of_step(const Trace& trace, const Links& links,
                                              const StepWindow& step);

}  // namespace tandem
