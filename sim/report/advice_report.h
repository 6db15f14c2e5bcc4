// What would make a step faster, as text and JSON. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sim/advise/advise.h"

namespace tandem {

inline constexpr std::string_view advice_schema = "tandem.advice/1";

/// The verdict, a line and a reason a row, then what could not be tried.
std::string advice_text(const Advice& advice);

/// One object of schema advice_schema.
nlohmann::ordered_json advice_json(const Advice& advice);

}  // namespace tandem
