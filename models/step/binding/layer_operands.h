// What layers of a compiled graph's forward pass read, and their gradients once more.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Finds the tensors that libraries' gradients read beside another gradient: those that the layer
/// read whose gradient it is, and what attention has made. The layer has the same sides; of several
/// alike, the gradient of the last one comes first.
class LayerOperands {
 public:
  explicit LayerOperands(const Step& step) : step_(step) {}

  /// `op` of the forward pass, whose operands and results are bound.
  void see(const Dataflow& flow, const FlowOp& op);
  /// The tensor that the operand `shape` of the gradient is; no_row if no layer is known to have
  /// read it. Each is found once.
  std::uint32_t take(const OpRow& gradient, const OpTensors& operands, const TensorShape& shape);

 private:
  /// Dimensions of the filters or queries, or rows, columns and sums of a product, which its
  /// gradients have in another order.
  using Sides = std::vector<std::int64_t>;
  struct Read {
    TensorShape shape;
    std::uint32_t tensor = 0;
  };
  static Sides sides_of(const OpRow& row, const OpTensors& operands);

  const Step& step_;
  std::map<Sides, std::vector<Read>> reads_;
};

}  // namespace tandem
