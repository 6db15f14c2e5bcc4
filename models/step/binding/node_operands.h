// What the operations of one autograd node read: the node's gradient, what the node itself made,
// and what the forward operation kept for it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/step/binding/made_tensors.h"
#include "models/step/dataflow.h"

namespace tandem {

/// Whether `tensor` is an operand of `op` that was found so far.
bool reads(const Dataflow& flow, const FlowOp& op, std::uint32_t tensor);

/// Whether gradients meet in `op`: they are added right below the node behind which they do.
bool accumulates(const Dataflow& flow, const FlowOp& op);

class NodeOperands {
 public:
  explicit NodeOperands(const Dataflow& flow);

  /// `op` is the next one whose operands are looked for.
  void enter(const FlowOp& op);
  /// The operands of operation `i` are known.
  void leave(std::uint32_t i);

  /// The gradient that the node was given; no_row: none yet.
  std::uint32_t gradient() const { return gradient_; }
  void set_gradient(std::uint32_t tensor) { gradient_ = tensor; }
  /// Whether the node of `op` made `tensor` (or no_row) itself: the slope at what was kept for it,
  /// by which it multiplies its gradient.
  bool made(const FlowOp& op, std::uint32_t tensor) const;

  /// What the forward operation of number `sequence` read (`input`) or made.
  std::uint32_t saved(const Candidates& list, const FlowOp& op, bool input) const;
  /// The same of tensors a slice of which it read.
  std::uint32_t saved_whole(const Candidates& list, const FlowOp& op) const;
  /// The gradient of a product of two tensors is multiplied by each of them, first by the second
  /// one: the gradient, or (`further`) the factor of that size and type whose turn it is.
  std::uint32_t factor(const FlowOp& op, std::int64_t elements, DataType type, bool further);
  /// An operand within an autograd node: the node's gradient, what the node made, or what its
  /// forward operation kept: what it read (`input`) or made.
  std::uint32_t within_node(const Candidates& list, const FlowOp& op, bool input) const;
  /// Whether the node of `op` is of a product of matrices whose result, and so the node's gradient,
  /// has another number of elements.
  bool is_matrix(const FlowOp& op, std::int64_t elements) const;
  /// Which matrix of that size and type its product has multiplied by the gradient: the right one's
  /// gradient comes first and reads the left one. no_row: of neither, or made before the step.
  std::uint32_t matrix(const FlowOp& op, std::int64_t elements, DataType type);

 private:
  bool taken(std::uint32_t tensor, const FlowOp& op) const { return reads(flow_, op, tensor); }
  bool converts_for(const FlowOp& op, std::uint32_t maker) const;
  /// What the node of `op` made: what nobody has read yet, else the latest; no_row: nothing.
  std::uint32_t own_result(const Candidates& list, const FlowOp& op) const;

  const Dataflow& flow_;
  std::vector<std::int64_t> number_;  // per operation
  std::uint32_t node_ = no_row;       // root of the operation at hand
  std::uint32_t gradient_ = no_row;   // that the autograd node of this root was given
  Candidates factors_;                // what this node has multiplied by
  std::unordered_map<std::int64_t, std::uint32_t> products_;  // of two tensors, by number
  std::unordered_map<std::int64_t, std::uint32_t> matrices_;  // products of matrices
};

}  // namespace tandem
