// How long an operation's kernels take in another type: its description, put to the laws of
// models/kernel/time.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_model.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/step/dataflow.h"
#include "models/whatif/precision/law.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

struct RetimeContext {
  const GpuArch& gpu;
  const PrecisionLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
  const MeasuredLayers& layers;
};

/// Time of a framework kernel that finds the place of each element by itself.
double turned_us(const RetimeContext& c, double elements, double lane_cycles);

double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to);

/// A matrix product; time 0 if the operands do not tell. `type` may be tf32. `padded`: a compiler
/// pads what libraries multiply slowly, sides whose rows are no multiple of 16 bytes.
KernelTime matmul_time(const RetimeContext& c, const OpContext& op, DataType type,
                       bool padded = false);

/// A matrix product of a recurrent layer, `op` with the geometry of its launch, in 16 bits; time 0
/// if that does not tell.
KernelTime recurrent_product_time(const RetimeContext& c, const KernelClass& kernel,
                                  const OpContext& op, DataType type);

/// Ratio of the main kernels of a convolution, from type to type. `operands`: those of
/// aten::cudnn_convolution or aten::convolution_backward.
double convolution_ratio(const RetimeContext& c, const OpTensors& operands, bool backward,
                         bool weight_gradient, DataType from, DataType to);

/// A convolution that runs on FP32 pipes, as it would run on tensor cores in 16 bits; time 0 where
/// shapes are missing or layers have groups. Its kernels work in channels-last order: the time
/// holds the transforms of images that are in another one (cuDNN 7 and later, tensor cores).
struct SwitchedConvolution {
  KernelTime to;  // without transforms
  double transforms_us = 0;
  double ratio = 0;  // of all that over the law's time on FP32 pipes
};
SwitchedConvolution switched_convolution(const RetimeContext& c, const OpContext& op, Pass pass,
                                         DataType half);

/// Fused attention in another width. Helpers of FP32 count as part of the main kernel.
struct RetypedAttention {
  double main_us = 0;
  double sums_us = 0;        // backward in 16 bits: row sums before it,
  double conversion_us = 0;  // and gradients of the queries to 16 bits after it
};
/// `us`: what all its kernels took in type `from`; decides only where no shapes are known.
RetypedAttention retyped_attention(const RetimeContext& c, const OpContext& op, bool backward,
                                   DataType from, DataType to, double us);

}  // namespace tandem
