// Whether the clocks of host and device agree.
#pragma once

#include <optional>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

std::optional<Observation> kernel_before_launch(const Evidence& e);
std::optional<Observation> kernel_after_wait(const Evidence& e);
/// By the shortest time from a launch to its kernel on an idle device, over the trace.
std::optional<Observation> clock_drift(const Evidence& e);

}  // namespace tandem
