// Time of a fused attention kernel, one pass.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// How blocks go through tiles. A block keeps `own_rows` (queries; backward keys) of one head and
/// walks over all tiles of `walked_rows` of the others that it may see (FlashAttention-2, section
/// 3.2). Cycles are of an SM with `lanes` FP32 lanes, beyond those of the multiplications at its
/// peak and of the exponentials. What the constants are: attention_pace_fields(); how they are
/// fitted: validation/fits/attention.
struct AttentionPace {
  DataType type = DataType::unknown;  // fp16: all 16-bit types
  bool backward = false;
  bool learned_mask = false;  // kernels that compute the gradient of a mask, in 16 bits

  double own_rows = 0, walked_rows = 0;
  double lanes = 0;
  double floor_us = 0;
  double start_cycles = 0;
  double tile_cycles = 0;
  double wide_ratio = 0;
  double dropout_cycles = 0;
  double mask_start_cycles = 0, mask_cycles = 0, odd_mask_cycles = 0;
  double diagonal_cycles = 0;
  double exposed_share = 0;

  std::vector<Provenance> origins;  // parallel to attention_pace_fields()
};
std::span<const Field<AttentionPace>> attention_pace_fields();

class TimeConstants;

/// Microseconds of the main kernel: the busiest SM's tiles one after the other, and what of the
/// operands' way through the DRAM, at `dram_share` of its peak, they do not hide.
double attention_us(const GpuArch& gpu, const AttentionPace& pace, double dram_share,
                    const AttentionShape& shape);
/// ... at the pace of the type and pass.
double attention_us(const GpuArch& gpu, const TimeConstants& constants, const AttentionShape& shape,
                    DataType type, bool backward);
/// ... and whether it waits for the DRAM longer than it computes.
struct AttentionTime {
  double us = 0;
  bool waits_for_memory = false;
};
AttentionTime attention_time(const GpuArch& gpu, const TimeConstants& constants,
                             const AttentionShape& shape, DataType type, bool backward);

}  // namespace tandem
