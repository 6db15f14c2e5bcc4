// What one launch has to do: elements, rows and unique bytes, from shapes or from the geometry.
#pragma once

#include <string_view>

#include "models/kernel/classify/classify.h"
#include "models/kernel/work/gemm_shape.h"

namespace tandem {

/// Work of a kernel that `context.op` launched. Without shapes the launch geometry gives an upper
/// estimate and `exact` is false.
KernelWork kernel_work(const KernelClass& kernel, const OpContext& context);

/// Parts of it: kernels that use the arguments of their operation as KindRow::use says, those that
/// compute element by element, and those that a compiler generated.
KernelWork argument_work(const KernelClass& kernel, const OpContext& context);
KernelWork elementwise_work(const KernelClass& kernel, const OpContext& context);
KernelWork generated_work(const KernelClass& kernel, const OpContext& context);

/// Elements that one thread of an elementwise kernel handles.
int elements_per_thread(const KernelClass& kernel);

}  // namespace tandem
