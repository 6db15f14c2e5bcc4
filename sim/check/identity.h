// Whether it is known what was measured: the device, the launches, the run that counters are of.
#pragma once

#include <optional>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

std::optional<Observation> unknown_device(const Evidence& e);
std::optional<Observation> no_launch_geometry(const Evidence& e);
std::optional<Observation> impossible_launches(const Evidence& e);
std::optional<Observation> counters_of_another_run(const Evidence& e);
std::optional<Observation> counters_of_another_gpu(const Evidence& e);
std::optional<Observation> impossible_counters(const Evidence& e);
std::optional<Observation> counters_at_another_clock(const Evidence& e);

}  // namespace tandem
