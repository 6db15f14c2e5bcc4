// Losses as every report shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/core/error.h"

namespace tandem {

/// A line for each that is no mere note.
std::string losses_text(const LossList& losses);

/// A list of objects: code, severity, count, description.
nlohmann::ordered_json losses_json(const LossList& losses);

}  // namespace tandem
