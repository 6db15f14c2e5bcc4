// The kernels that a step of a trace launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/time.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Rows of Trace::activities in launch order: kernels whose launch call began in the step's window,
/// whenever they ran. Kernels without a launch in the trace belong to no step.
std::vector<std::uint32_t> kernels_of_step(const Trace& trace, const Links& links,
                                           std::size_t step);

/// Time from the end of the device work before the step's first to the end of its last: the period
/// of the loop, also where the host runs ahead. The first step begins with its window if the work
/// before it ended earlier.
Duration period_of_step(const Trace& trace, const Links& links, std::size_t step);

}  // namespace tandem
