// Names of element types and what kind of number they hold.
#pragma once

#include <string_view>

#include "sim/core/tensors/tensor.h"

namespace tandem {

/// FP16 or BF16.
constexpr bool is_half(DataType type) { return type == DataType::fp16 || type == DataType::bf16; }

/// A floating-point type of any width; of complex numbers, their parts.
constexpr bool is_floating(DataType type) {
  return is_half(type) || type == DataType::fp32 || type == DataType::tf32 ||
         type == DataType::fp64 || type == DataType::complex64;
}

/// What tensors may be stored in; TF32 is a kind of arithmetic.
inline constexpr DataType stored_types[] = {DataType::fp32, DataType::fp16,    DataType::bf16,
                                            DataType::fp64, DataType::int64,   DataType::int32,
                                            DataType::int8, DataType::boolean, DataType::complex64};

/// As configurations and tables write it: "fp16"; "unknown".
std::string_view to_string(DataType type);

/// The type of a framework's profiler's name, "c10::Half"; `unknown` for other texts.
DataType parse_framework_type(std::string_view name);

}  // namespace tandem
