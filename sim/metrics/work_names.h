// Names that reports group the device work of a trace by.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

/// Per activity of the trace, and per call.
struct WorkNames {
  std::span<const std::string_view> op = {};          // framework operation
  std::span<const std::string_view> layer = {};       // type of layer
  std::span<const std::string_view> op_of_call = {};  // per call; empty: none
};

}  // namespace tandem
