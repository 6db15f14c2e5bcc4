// What an operation does to its operands, by name: the table behind dataflow.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/step/dataflow.h"
#include "sim/core/operands.h"

namespace tandem {

/// Arguments of an operation as a bit set; bit i: argument i.
using ArgumentSet = std::uint16_t;
inline constexpr ArgumentSet all_arguments = 0xffff;

struct FlowRule {
  std::string_view pattern;  // of the name without "aten::"; a leading '^' ties it to the start
  FlowKind kind;
  ArgumentSet activations;        // operands made by other operations; the rest are parameters
  ArgumentSet saved_inputs = 0;   // of a backward operation: read by its forward operation
  ArgumentSet saved_outputs = 0;  // ... made by it
};
/// The rule of the first row that fits; the last row fits everything.
const FlowRule& flow_rule(std::string_view name);

/// Whether the kind computes in a library kernel that a compiler keeps.
bool is_core(FlowKind kind);

struct OutputShape {
  std::int64_t elements = 0;  // 0: the trace does not tell
  DataType type = DataType::unknown;
};
/// `arguments`: values by position, may be empty. Appends to `out`.
void output_shapes(FlowKind kind, std::string_view name, const OpTensors& operands,
                   std::span<const Argument> arguments, std::vector<OutputShape>& out);

}  // namespace tandem
