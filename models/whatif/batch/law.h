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
#include "models/kernel/time/laws/embedding_gradient.h"
#include "models/kernel/time/laws/framework_sums.h"
#include "models/kernel/time/laws/product_growth.h"
#include "models/kernel/time/laws/row_sums.h"
#include "models/step/memory/device_memory.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// What predictions are off by, relative, of the GPU time. An octave is a doubling of the batch.
struct BatchErrors {
  double per_octave = 0;
  double unknown_per_octave = 0;    // of kernels that the law knows little about
  double unknown_octaves = 0;       // up to which that grows
  double recurrent_per_octave = 0;  // of recurrent layers
  double single_item = 0;           // from or to a batch of one
  double two_traces = 0;            // that agree; and
  double of_disagreement = 0;       // the share of what they disagree by
  double nodes = 0;                 // of steps on the CPU, between two traced batches
  double nodes_outside = 0;         // and beyond them
};

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
  SumPace sums;
  RowSums row_sums;  // gradients of row norms' parameters
  EmbeddingGradient embedding;

  BatchErrors errors;

  DeviceMemory device_memory;

  std::vector<Provenance> origins;
};

/// Reads configs/kernels/batch.json. Errors: InputError `file:key: found X, expected Y`.
BatchLaw load_batch_law(const std::string& path);

}  // namespace tandem
