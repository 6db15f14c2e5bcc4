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
/// Convolutions for which the library has chosen an algorithm that takes many times as long as
/// their shape would at the peak of tensor cores or of DRAM: no fault of the measurement.
std::optional<Observation> slow_choice(const Evidence& e);

}  // namespace tandem
