// Floating-point operations by the formula of an operation, and how fast a GPU could do them.
#pragma once

#include <optional>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"
#include "models/kernel/work/gemm_shape.h"

namespace tandem {

/// Two a multiply-add of the product, convolution or attention that the kernel computes, whatever
/// its algorithm and padding; of a recurrent layer those of all its kernels together, where both
/// directions count as layers in a row. Attention: two products forward, five backward (the scores
/// are computed again); causal: of the lower triangle only. 0: the kernel computes none, or shapes
/// are not known.
double formula_flops(const KernelClass& kernel, const OpContext& context);

/// How many of the gradients of image and weights the backward operation of a convolution computes,
/// as its arguments say; 0: it is none, or they were not recorded.
int convolution_gradients(const OpContext& context);

/// Whether the kernel multiplies matrices for its operation.
bool computes_product(const KernelClass& kernel);

/// Dense peak of the arithmetic of the kernel's products at the GPU's boost clock, TFLOP/s.
double product_peak_tflops(const KernelLaunch& launch, const GpuArch& gpu);

/// Why the kernel's products cannot use the tensor cores well, as far as it tells itself: type: on
/// FP32 pipes, for the type has no tensor instruction or the program did not allow TF32; alignment:
/// of 16-bit types on FP32 pipes, or loads of operands of less than 16 bytes; layout: no product,
/// it rearranges operands for one. Nothing: none of these.
std::optional<Shortfall> product_limit(const KernelLaunch& launch);

}  // namespace tandem
