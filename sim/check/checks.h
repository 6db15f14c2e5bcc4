// Whether a measured trace can be trusted, and for what.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sim/check/evidence.h"
#include "sim/check/finding.h"

namespace tandem {

/// One question to a measurement.
struct Check {
  std::string_view name;  // code of its finding
  std::string_view unit;  // of what it sees
  std::string_view doc;   // what it sees, in words
  UseSet touches;
  std::string_view means;   // for the uses it touches
  std::string_view advice;  // what to do
  std::optional<Observation> (*look)(const Evidence&);
};

/// All checks, in the order in which they are made.
std::span<const Check> checks();

/// All that is to be said of a run and of the counters that are said to belong to it (null: none).
/// Pure; simulates nothing.
CheckReport check(const TracedRun& run, const CheckLimits& limits,
                  const MatchedCounters* counters = nullptr);

}  // namespace tandem
