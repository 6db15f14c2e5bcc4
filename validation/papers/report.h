// Verdicts on claims as text and JSON. Nothing here computes.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "validation/papers/evaluate.h"

namespace tandem {

/// A row a claim, then counts by chapter; with `scenarios`, what each scenario gave.
std::string claims_text(const std::vector<ClaimResult>& results, bool scenarios);

inline constexpr std::string_view claims_result_schema = "tandem.claims-result/1";
Json claims_json(const std::vector<ClaimResult>& results);

}  // namespace tandem
