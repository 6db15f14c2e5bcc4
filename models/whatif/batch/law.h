// Constants of the batch-size what-if: launch floors, damping and those of the laws of time that it
// asks, read from configs/kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/residual.h"
#include "models/kernel/time/laws/attention.h"
#include "models/kernel/time/laws/cached_memory.h"
#include "models/kernel/time/laws/channel_norm.h"
#include "models/kernel/time/laws/column_sums.h"
#include "models/kernel/time/laws/product_growth.h"
#include "models/kernel/time/laws/row_sums.h"
#include "sim/core/provenance.h"

namespace tandem {

/// All times in us. What the constants are stands in law.cpp and with the laws of
/// models/kernel/time.
struct BatchLaw {
  std::string name;

  // Shape of the law: pred = floor + residual^w x body(new batch).
  double trace_floor_us = 0;
  double floor_share_memory = 0;
  double floor_share_matrix = 0;
  double damping_us = 0;

  // Memory-bound kernels
  std::array<double, memory_classes> floor_us{};
  CachedMemory memory;

  ProductGrowth products;
  NormGrowth norm;  // one block per channel
  AttentionGrowth attention;
  ColumnSums columns;  // reductions over the batch
  RowSums row_sums;    // gradients of row norms' parameters
  EmbeddingGradient embedding;

  // Memory of the device
  double memory_workspace_bytes = 0;         // of a handle of the library of products
  double memory_workspace_major = 0;         // first compute capability with so much
  double memory_workspace_before_bytes = 0;  // with an earlier one
  double memory_context_bytes = 0;
  double memory_usable_share = 0;

  std::vector<Provenance> origins;

  /// Of the handles that a step holds: the thread of the backward pass has one of its own.
  double workspace_bytes(int compute_major, bool training) const {
    const bool later = compute_major >= memory_workspace_major;
    return (training ? 2 : 1) * (later ? memory_workspace_bytes : memory_workspace_before_bytes);
  }
};

/// Reads configs/kernels/batch.json. Errors: InputError `file:key: found X, expected Y`.
BatchLaw load_batch_law(const std::string& path);

}  // namespace tandem
