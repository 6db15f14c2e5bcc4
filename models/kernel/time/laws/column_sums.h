// Kernels whose threads add up over the batch, and gradients of embedding tables.
#pragma once

#include <vector>

#include "models/kernel/time/laws/cached_memory.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Documentation: column_sums.cpp; times in us.
struct ColumnSums {
  double step_us = 0;
  double split_us = 0;
};
std::vector<Field<ColumnSums>> column_sums_fields();

/// Sums of `inputs` values each, by `threads` of each of `blocks`.
struct ColumnSum {
  double inputs = 0;
  double threads = 1, blocks = 1;
  double bytes = 0;  // that the kernel moves
};
double column_sum_us(const GpuArch& gpu, const ColumnSums& sums, const CachedMemory& memory,
                     const ColumnSum& work);

struct EmbeddingGradient {
  double token_us = 0;
  double sort_us = 0;
  double sort_token_us = 0;
};
std::vector<Field<EmbeddingGradient>> embedding_gradient_fields();

/// Above so many tokens the framework sorts the indices.
bool sorts_tokens(double tokens);
double embedding_gradient_us(const EmbeddingGradient& gradient, double tokens);

}  // namespace tandem
