// What an operation was called with: tensors by shape and type, other arguments by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/tensors/tensor.h"

namespace tandem {

/// The tensor operands of one operation, in argument order. Lists of tensors are flattened; scalars
/// and arguments that were not given yield no tensor.
struct OpTensors {
  std::vector<TensorShape> shapes;
  std::vector<std::uint8_t> arguments;  // parallel to shapes: position among the arguments
  /// Tensor at argument `position`, or null. The first one if the argument is a list.
  const TensorShape* at(std::size_t position) const;
  void add(std::size_t position, const TensorShape& shape);
  friend bool operator==(const OpTensors&, const OpTensors&) = default;
};

/// The value of an argument that is no tensor. monostate: none was given, or none recorded; a text
/// is whatever is neither a number nor a list of them.
using Argument = std::variant<std::monostate, bool, std::int64_t, double, std::vector<std::int64_t>,
                              std::vector<double>, std::string>;

/// The whole numbers of an argument, one or a list; other values have none.
std::span<const std::int64_t> integers_of(const Argument& argument);

/// The mask that a compiler finds an operation of attention called with, where the program makes
/// it only then. column: one that masks nothing, a single column that is expanded.
enum class CompiledMask : std::uint8_t { not_known, none, column, whole };

struct Operands {
  OpTensors tensors;
  std::vector<Argument> arguments;     // by position; empty: none recorded
  bool has_shapes = false;             // shapes were recorded, be there no tensor among them
  std::uint16_t argument_count = 0;    // tensors and others; 0: not recorded
  std::vector<TensorShape> made = {};  // results, in order; empty: not known (traces)
  /// Memory that is given back behind the operation though an earlier one was the last on it: a
  /// name or a frame of the program held it. Of generated steps.
  std::vector<TensorShape> dropped = {};
  CompiledMask compiled_mask = CompiledMask::not_known;
  /// The argument at `position`; none if it was not recorded.
  const Argument& argument(std::size_t position) const;
  friend bool operator==(const Operands&, const Operands&) = default;
};

/// Dimensions of the tensors as text, for reports: "[[32,3],[64,3,7,7]]".
std::string shapes_text(const OpTensors& tensors);

std::size_t hash_of(const Operands& operands);
/// Bytes that the operands hold, themselves included.
std::size_t memory_bytes(const Operands& operands);

}  // namespace tandem
