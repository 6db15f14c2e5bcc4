// Products of many small matrices in FP32 and TF32, as attention without a fused kernel has them.
#pragma once

#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// Waves of tiles, each k steps and `start_k` more; loading a row or a column of a tile takes as
/// long as `load` multiplications for each step. Operands come meanwhile, results leave behind.
/// Measured on one generation of GPUs; fit: validation/fits/products/fit_batched.py.
struct BatchedPace {
  DataType type = DataType::fp32;  // or TF32
  int compute_major = 0;

  double floor_us = 0;
  double share = 0;
  double start_k = 0;
  double load = 0;
  double unaligned_ratio = 1;

  std::vector<Provenance> origins;  // parallel to batched_pace_fields()
};
std::span<const Field<BatchedPace>> batched_pace_fields();

class TimeConstants;
struct GemmShape;
struct KernelTime;

/// Microseconds of products on the pipes of the pace.
double batched_us(const GpuArch& gpu, const BatchedPace& pace, const GemmShape& shape);

/// A product as frameworks call it: of several matrices (not of images, for which libraries of
/// convolutions choose otherwise) at the pace that was measured, TF32 on FP32 pipes where that is
/// faster; all others, and GPUs of which none was measured, by gemm_time.
KernelTime product_time(const GpuArch& gpu, const GemmShape& shape, const TimeConstants& constants);
/// Whether it goes by a measured pace.
bool has_batched_pace(const GpuArch& gpu, const TimeConstants& constants, const GemmShape& shape);

}  // namespace tandem
