// Operand shapes of an operation, from the JSON texts that a trace interns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/tensor.h"

namespace tandem {

/// The tensor operands of one operation, in argument order. Lists of tensors are flattened.
struct OpTensors {
  std::vector<TensorShape> shapes;
  std::vector<std::uint8_t> arguments;  // parallel to shapes: position among the arguments
  bool lists_without_shapes = false;    // a tensor list whose members the profiler did not record
  /// Tensor at argument `position`, or null. The first one if the argument is a list.
  const TensorShape* at(std::size_t position) const;
};

/// `dims`, `types`, `strides`: `Input Dims`, `Input type`, `Input Strides`; the latter may be
/// empty. Scalars and missing arguments yield no tensor. Errors: InputError if a text is not what
/// the profiler writes.
OpTensors parse_tensors(std::string_view dims, std::string_view types, std::string_view strides);

/// The arguments of `Concrete Inputs` as texts, e.g. "[1, 1]" or "False"; "" where none was
/// recorded. Views into `concrete`.
std::vector<std::string_view> parse_arguments(std::string_view concrete);
/// Integers of an argument text: "[3, 3]" or "3"; other texts yield none.
std::vector<std::int64_t> parse_integers(std::string_view argument);

/// Type as the profiler names it, e.g. "c10::Half".
DataType parse_type(std::string_view name);

}  // namespace tandem
