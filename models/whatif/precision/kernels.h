// How long an operation's kernels take in another type. Laws per kind of operation; every ratio is
// of the part above a floor.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/arch/gpu_arch.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_model.h"
#include "models/step/dataflow.h"
#include "models/whatif/precision/law.h"
#include "sim/core/operands.h"

namespace tandem {

struct RetimeContext {
  const GpuArch& gpu;
  const PrecisionLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
};

double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to);

/// A matrix product from the operands of aten::mm, addmm, bmm, baddbmm; time 0 if they do not tell.
/// `type` may be tf32.
KernelTime matmul_time(const RetimeContext& c, const OpTensors& operands, DataType type);

/// Ratio of the main kernels of a convolution, from type to type. `operands`: those of
/// aten::cudnn_convolution or aten::convolution_backward; `dgrad`: the gradient of the input.
double convolution_ratio(const RetimeContext& c, const OpTensors& operands, bool backward,
                         bool weight_gradient, DataType from, DataType to);

/// Fused attention with its helpers, which took `us` in type `from`.
double attention_us(const RetimeContext& c, const OpTensors& operands, bool backward, DataType from,
                    DataType to, double us);

/// A batch of images that is normalised by channel.
struct NormShape {
  double channels = 0;
  double per_channel = 0;  // elements: images x pixels
  double plane = 0;        // pixels
  double elements() const { return channels * per_channel; }
};
NormShape norm_shape(const TensorShape& input);

/// Training batch norm of the library (cuDNN), one kernel.
double library_norm_us(const RetimeContext& c, const NormShape& shape, DataType type,
                       bool backward);
/// Of the framework (BF16): statistics, update and transform forward; one kernel backward.
double native_statistics_us(const RetimeContext& c, const NormShape& shape);
double native_transform_us(const RetimeContext& c, const NormShape& shape, DataType type);
double native_backward_us(const RetimeContext& c, const NormShape& shape);

/// What decides the time of a memory-bound operation.
struct MemoryChange {
  OpKind kind = OpKind::pointwise;
  std::string_view op;
  bool strided = false;                            // the kernel computes the place of every element
  bool mixed_before = false, mixed_after = false;  // operands of two floating types
  double bytes_before = 0, bytes_after = 0;        // of all operands
};
double memory_ratio(const RetimeContext& c, const MemoryChange& change);

}  // namespace tandem
