// Names and operand texts of operations in another precision, as a profiler would print them.
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

/// Argument `index` of a JSON list such as `Input Dims`: "[64, 3, 7, 7]"; "" if there is none.
std::string_view list_argument(std::string_view list, std::size_t index);
/// `types` with argument `index` exchanged.
std::string with_argument(std::string_view types, std::size_t index, std::string_view type);

}  // namespace tandem
