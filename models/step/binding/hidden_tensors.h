// Tensors that an operation cannot have meant, though their size and type are those of an operand.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Whether another pass of the step made the tensor: of those only gradients are read later, where
/// they are added up.
bool of_other_pass(const Dataflow& flow, std::uint32_t tensor, const FlowOp& op);

/// Zeros that operation `i` has filled within itself for its result `output`, or no_row: gradients
/// of a table's rows.
std::uint32_t filled_within(const Dataflow& flow, std::uint32_t i, std::uint32_t output);

/// What an operation cannot have meant, or hardly.
class HiddenTensors {
 public:
  HiddenTensors(const Step& step, const Dataflow& flow);

  /// Operation `op` works in place: who names its first operand afterwards means the result.
  void overwritten_by(const FlowOp& op);

  /// Operation `i` has made its results. The zeros that it filled before for one of them are no
  /// tensor of their own: gives them, or no_row.
  std::uint32_t completed_by(std::uint32_t i);

  bool from(std::uint32_t tensor, const FlowOp& op, bool further) const;

 private:
  static void mark(std::vector<bool>& marks, std::uint32_t tensor);

  const Dataflow& flow_;
  std::vector<std::uint32_t> layer_;  // per operation: of which it converts an operand, or no_row
  std::vector<bool> overwritten_;     // per tensor
  std::vector<bool> completed_;       // per tensor: zeros that became a result
};

}  // namespace tandem
