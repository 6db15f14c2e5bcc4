// How libraries run a convolution layer as far as rules tell: what a step without a trace goes by,
// and what-ifs where no measured layer is near.
#pragma once

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"

namespace tandem {

/// What a layer with images of `type` is multiplied in: FP32 ones use TF32 where the GPU has it and
/// loads of 16 bytes find whole channels.
DataType layer_math(const GpuArch& gpu, const LayerShape& shape, DataType type);

/// 1x1 layers are products of matrices where fast loads find whole rows; what else runs on tensor
/// cores has images in channels-last order, so that others are turned; FP32 pipes take any order.
LayerClass layer_class_by_rule(const GpuArch& gpu, const LayerShape& shape, DataType type);

}  // namespace tandem
