// In which memory the tensors of a network lie: what traces do not tell.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/network.h"

namespace tandem {

class TensorMemories {
 public:
  explicit TensorMemories(const BoundNetwork& bound);

  TensorMemory of(std::uint32_t tensor) const;
  /// The operands of an operation, and its results, each with the memory that it lies in.
  Operands operands(const NetworkOp& op, const BoundOp& bound) const;

 private:
  const BoundNetwork& bound_;
  std::vector<bool> grows_;  // with the batch; by storage
};

}  // namespace tandem
