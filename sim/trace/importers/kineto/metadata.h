// The values that Kineto writes beside the events.
#pragma once

#include <array>
#include <string_view>

#include "sim/trace/trace.h"

namespace tandem {

inline constexpr std::array<std::string_view, 2> kineto_metadata_keys{"deviceProperties",
                                                                      "distributedInfo"};

/// Puts the value of one of these keys into the trace. What cannot be read is counted.
void read_kineto_metadata(std::string_view key, std::string_view json, Trace& trace);

}  // namespace tandem
