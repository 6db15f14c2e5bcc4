// Whether kernels last as long as such kernels can and usually do.
#pragma once

#include <optional>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

std::optional<Observation> faster_than_physics(const Evidence& e);
std::optional<Observation> slow_stretch(const Evidence& e);
std::optional<Observation> unlike_repeats(const Evidence& e);
std::optional<Observation> slower_than_model(const Evidence& e);

}  // namespace tandem
