// Names that reports group the device work of a trace by.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

/// Per activity of the trace.
struct WorkNames {
  std::span<const std::string_view> op;     // framework operation
  std::span<const std::string_view> layer;  // type of layer
};

}  // namespace tandem
