// Whether layers add to what a norm read, or to what it made.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// Networks with the norm first add the results of layers to what the norm before them read, others
/// (BERT) to what it made. Both run the same operations on tensors of the same size. It shows in
/// the order of the operand's elements (a norm makes rows in order, whatever it reads), backward
/// (the gradient of a norm meets that of the sum it read right behind it), and where there are
/// neither in the kind of network: those of patches of pictures have the norm first.
class NormOrder {
 public:
  NormOrder(const Step& step, const Dataflow& flow);

  /// The tensors of a forward operation are known.
  void see(const FlowOp& op);
  /// What the forward sum `op` reads as an operand of `shape`: `tensor`, which may be what a norm
  /// made, or what that norm read.
  std::uint32_t summed(const FlowOp& op, const TensorShape& shape, std::uint32_t tensor) const;

 private:
  std::uint32_t normalised(const FlowOp& norm) const;
  bool of_patches(std::uint32_t tensor) const;

  const Step& step_;
  const Dataflow& flow_;
  std::unordered_set<std::int64_t> first_;  // norms whose gradients are added to others, by number
  bool trains_ = false;                     // the step has gradients of norms
  bool seen_ = false;                       // a norm
  bool patches_ = false;                    // the first norm read what became of patches
};

/// Whether a forward sum's first operand lies turned and its second, as large, in order: the second
/// is what the operation before has just made, and the first what it is added to.
bool adds_to_turned(const FlowOp& op, const OpTensors& operands);

}  // namespace tandem
