// How much of a tensor a kernel reads whose operations take slices of it: queries of what one
// product made for queries, keys and values, one half of a gated layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Operations of one kernel.
struct KernelOps {
  std::span<const std::uint32_t> ops;       // of Dataflow::ops, ascending
  const std::vector<std::uint32_t>& alias;  // per tensor: the one that holds its values
  const std::vector<bool>& sums_rows;       // per operation: a norm, a softmax, a sum over rows
};

/// Elements of `tensor` in the sectors that the kernel fetches. Slices of one operation, and those
/// of operations that do not follow from each other, are taken to be different ones. Rows that are
/// scaled by what was added up of them are the same, and so are slices of a slice (the halves that
/// rotary positions turn).
std::int64_t read_elements(const Trace& trace, const Dataflow& flow, const KernelOps& kernel,
                           std::uint32_t tensor);

}  // namespace tandem
