// Tensors that an operation cannot have meant, though their size and type are those of an operand.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Whether another pass of the step made the tensor: of those only gradients are read later, where
/// they are added up.
bool of_other_pass(const Dataflow& flow, std::uint32_t tensor, const FlowOp& op);

/// What an operation of the forward pass cannot have meant, or hardly.
class HiddenTensors {
 public:
  HiddenTensors(const Step& step, const Dataflow& flow);

  /// Operation `op` works in place: who names its first operand afterwards means the result.
  void overwritten_by(const FlowOp& op);

  bool from(std::uint32_t tensor, const FlowOp& op, bool further) const;

 private:
  const Dataflow& flow_;
  std::vector<std::uint32_t> layer_;  // per operation: of which it converts an operand, or no_row
  std::vector<bool> overwritten_;     // per tensor
};

}  // namespace tandem
