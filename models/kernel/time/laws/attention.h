// Fused attention.
#pragma once

#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// How a measured kernel grows with its blocks.
struct AttentionGrowth {
  double floor_us = 0;
  double cache_floor_us = 0;
  double lone_waves = 0;
};
std::vector<Field<AttentionGrowth>> attention_growth_fields();

/// Blocks work on whole tiles of queries. Persistent kernels start one block per SM at most, so
/// their grid hides the work; the shapes tell it.
double attention_blocks(const AttentionShape& shape);
/// Waves of blocks that an SM works through; only ratios mean anything.
double attention_waves(const GpuArch& gpu, const AttentionGrowth& growth, double blocks,
                       bool persistent);

}  // namespace tandem
