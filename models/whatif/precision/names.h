// Names of kernels and types in another precision, as a profiler would print them.
#pragma once

#include <string>
#include <string_view>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"
#include "models/kernel/time/time_model.h"

namespace tandem {

/// As in `Input type`: "float", "c10::Half", "c10::BFloat16"; "" for other types.
std::string_view framework_type(DataType type);

/// The kernel's name with its element type exchanged where the name states it.
std::string retyped_name(std::string_view name, DataType from, DataType to);
/// A kernel of the matrix library. `type`: fp32, tf32, fp16 or bf16.
std::string matmul_name(const GpuArch& gpu, DataType type, const KernelTime& time);
std::string attention_name(const GpuArch& gpu, DataType type, bool backward);
std::string cast_name(DataType from, DataType to);

}  // namespace tandem
