// Types within compiled graphs under autocast. A graph has one node of autograd for all of its
// operations, so each is what it is by itself, forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "models/whatif/precision/types/types.h"

namespace tandem {

/// Layers are lowered, and generated kernels write what their readers want.
class GraphTypes {
 public:
  /// `lowered`: per operation, whether it is a layer of a graph that autocast lowers.
  GraphTypes(const Dataflow& flow, DataType half, std::vector<bool> lowered);

  bool lowers(std::uint32_t op) const { return lowered_[op]; }
  /// Types of operation `op` of a graph and of what it makes, once those of its operands are known.
  void retype(std::uint32_t op, TypeChange& change) const;
  /// Casts become part of the kernels that make or read what is cast, but for those of parameters
  /// and their gradients, which libraries read and make.
  void fuse(std::vector<PlannedCast>& casts) const;

 private:
  DataType type_of_large(const FlowOp& op, const std::vector<DataType>& types) const;

  const Dataflow& flow_;
  DataType half_;
  std::vector<bool> lowered_;
  std::vector<bool> for_layers_;  // per tensor: only such layers read it
};

}  // namespace tandem
