// What was found wrong with a measurement, as text and JSON. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/check/finding.h"
#include "sim/predict/result.h"

namespace tandem {

inline constexpr std::string_view check_schema = "tandem.check/1";

/// The verdicts and one line a finding.
std::string check_text(const TraceSummary& trace, const CheckReport& report);

/// The same without abbreviations.
nlohmann::ordered_json check_json(const TraceSummary& trace, const CheckReport& report);

}  // namespace tandem
