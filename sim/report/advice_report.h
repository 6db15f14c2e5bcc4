// What would make a step faster, as text and JSON. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sim/advise/advise.h"

namespace tandem {

inline constexpr std::string_view advice_schema = "tandem.advice/1";

/// "1.50 times (1.20 to 1.90 in 9 of 10 cases)".
std::string gain_text(const SpeedUp& speed_up);

/// The verdict, a line and a reason a row, then what could not be tried.
std::string advice_text(const Advice& advice);

/// One object of schema advice_schema.
nlohmann::ordered_json advice_json(const Advice& advice);

}  // namespace tandem
