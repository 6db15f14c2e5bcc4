// Spans of the host that a name picks.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sim/core/time.h"
#include "sim/trace/trace.h"

namespace tandem {

struct HostSpan {
  TimePoint begin, end;
};

/// Spans of annotations or, before 2022, of operations whose names are `wanted`: the outermost
/// ones, by begin.
std::vector<HostSpan> spans_named(const Trace& trace,
                                  const std::function<bool(std::string_view)>& wanted);

/// Those in which an optimizer updates the parameters.
std::vector<HostSpan> optimizer_spans(const Trace& trace);

}  // namespace tandem
