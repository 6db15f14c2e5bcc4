// The batch-size what-if of steps whose kernels run on the CPU, in an eager runtime's executor.
#pragma once

#include <cstdint>

#include "models/step/step.h"

namespace tandem {

/// A step of such a runtime that was measured at a known batch.
struct NodesBase {
  const Step& step;
  std::int64_t batch = 0;
};

/// The step of `base` at `batch`: the time that each node computes lies on the straight line
/// through both bases, and is no shorter than half the shorter of the two. Host times stay. Errors:
/// InputError if the bases enqueue other operations or have equal batches.
Plan nodes_at_batch(const NodesBase& base, const NodesBase& other, std::int64_t batch);

}  // namespace tandem
