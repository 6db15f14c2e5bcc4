#include "workloads/tensor_memory.h"

#include <algorithm>

namespace tandem {

// Sizes that another batch changes grow; of a network without a batch nothing is known to be fixed.
TensorMemories::TensorMemories(const BoundNetwork& bound) : bound_(bound) {
  const Network& network = *bound.network;
  std::vector<std::int64_t> twice = bound.values;
  for (std::size_t i = 0; i < twice.size(); ++i) {
    if (network.symbols[i].name == "batch") twice[i] *= 2;
  }
  grows_.assign(network.storages.size(), twice == bound.values);
  for (const NetworkTensor& tensor : network.tensors) {
    const bool grows =
        std::any_of(tensor.dims.begin(), tensor.dims.end(),
                    [&](const Expression& e) { return e.at(twice) != e.at(bound.values); });
    if (grows) grows_[tensor.storage] = true;
  }
}

TensorMemory TensorMemories::of(std::uint32_t tensor) const {
  const Network& network = *bound_.network;
  TensorMemory out;
  const std::uint32_t storage = network.tensors[tensor].storage;
  out.storage = storage + 1;
  switch (network.storages[storage]) {
    case StorageKind::parameter: out.role = TensorRole::parameter; break;
    case StorageKind::gradient: out.role = TensorRole::gradient; break;
    case StorageKind::activation:
      out.role = grows_[storage] ? TensorRole::activation : TensorRole::fixed;
      break;
    default: out.role = TensorRole::kept;
  }
  return out;
}

Operands TensorMemories::operands(const NetworkOp& op, const BoundOp& bound) const {
  Operands out = bound.operands;
  std::size_t operand = 0;
  for (const NetworkArgument& a : op.arguments) {
    for (const std::uint32_t t : a.tensors) out.tensors.shapes[operand++].memory = of(t);
  }
  for (const std::uint32_t t : op.outputs) {
    out.made.push_back(bound_.tensors[t]);
    out.made.back().memory = of(t);
  }
  return out;
}

}  // namespace tandem
