// Whether launches and kernels of a trace belong together one by one.
#pragma once

#include <optional>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

std::optional<Observation> no_host(const Evidence& e);
std::optional<Observation> missing_correlations(const Evidence& e);
std::optional<Observation> dropped_kernels(const Evidence& e);
std::optional<Observation> missing_launches(const Evidence& e);
std::optional<Observation> launched_before(const Evidence& e);
std::optional<Observation> truncated(const Evidence& e);
std::optional<Observation> overlapping_on_stream(const Evidence& e);

}  // namespace tandem
