// Shapes and types of what an operation makes, from those of its operands.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/ops/op_table.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// A result. Where the operands do not tell its shape, only the type is known.
struct OutputShape {
  bool known = false;
  TensorShape shape;  // without strides
  std::int64_t elements() const { return known ? shape.elements() : 0; }
};

/// The results of the operation `name`, whose row is `row`, in order. `arguments`: by
/// position; may be empty.
std::vector<OutputShape> output_shapes(const OpRow& row, std::string_view name,
                                       const OpTensors& operands,
                                       std::span<const Argument> arguments);

}  // namespace tandem
