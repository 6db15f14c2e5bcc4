// The kernels of PyTorch's attention that is not fused (aten::_scaled_dot_product_attention_math).
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// What their times follow.
struct MathConstants {
  const GpuArch& gpu;  // that the step runs on
  const TimeConstants& time;
  const LibraryNames& names;
  double floor_us = 0;  // of a kernel on elements one by one
};

/// One operation of attention. Queries, keys and values lie token by token, heads within a token.
struct MathAttention {
  AttentionShape shape;
  std::int64_t images = 1;            // items of the batch, each with a mask of its own
  DataType type = DataType::unknown;  // of the operands
  bool tf32 = false;                  // products of FP32 numbers run in TF32
};

/// In the order in which they run; without host time.
std::vector<NewKernel> math_attention(const MathConstants& constants, const MathAttention& op,
                                      bool backward);

}  // namespace tandem
