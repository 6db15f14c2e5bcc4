// Whether the steps of a trace are steps of a loop that has settled.
#pragma once

#include <optional>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

std::optional<Observation> no_steps(const Evidence& e);
std::optional<Observation> missing_steps(const Evidence& e);
std::optional<Observation> warm_up_inside(const Evidence& e);
std::optional<Observation> steps_not_alike(const Evidence& e);
std::optional<Observation> host_noise(const Evidence& e);
std::optional<Observation> profiler_share(const Evidence& e);

}  // namespace tandem
