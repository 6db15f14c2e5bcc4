// Gradients that reach their parameters, and the buckets in which ranks sum them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/collective/collective_law.h"
#include "models/step/op_nesting.h"
#include "models/step/step.h"

namespace tandem {

struct Gradient {
  std::uint32_t work = 0;  // the last launched before
  double bytes = 0;
  std::vector<std::int64_t> dims;
  std::int64_t node = -1;  // autograd number of the node that computes it; -1: not recorded
};

/// In the order in which they are ready.
std::vector<Gradient> gradients_of(const Step& step, const OpNesting& nesting);

/// Those of the last pass, where the step adds up the gradients of several.
std::vector<Gradient> last_gradients_of(const Step& step, const OpNesting& nesting);

/// Whether the optimizer updates rows of tables: their gradients are sparse.
bool updates_rows(const Trace& trace);

/// Behind the last gradient of each bucket, which is full when it holds at least its limit.
std::vector<std::size_t> bucket_ends(const std::vector<Gradient>& gradients,
                                     const GradientBuckets& buckets);

}  // namespace tandem
