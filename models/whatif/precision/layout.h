// Copies that only mend the layout in which one attention backend leaves its results.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Operations of `flow` that vanish when attention operation `index` of the step moves from the
/// memory-efficient FP32 kernels to the fused ones on tensor cores; ascending. The former leave
/// results as [batch, queries, heads, width], the latter in the layout of the operands.
std::vector<std::uint32_t> mending_copies(const Trace& trace, const Dataflow& flow,
                                          std::uint32_t index);

/// Elements of the result of operation `index` if that is forward attention and a copy appears with
/// that move: a query that lies head by head leaves the result so, and what reads it goes on with
/// rows of all heads. None where the next operation copies the result anyway.
std::int64_t turned_result(const Trace& trace, const Dataflow& flow, std::uint32_t index);

}  // namespace tandem
