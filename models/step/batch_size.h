// How many items a step of a trace works on.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What the annotation of the steps says, else the leading dimension of the input of the first
/// convolution, embedding or linear layer of the first step; nothing if the trace has no shapes.
std::optional<std::int64_t> batch_size(const Trace& trace, const Links& links);

}  // namespace tandem
