// What the autograd engine has gathered so far for each tensor of the forward pass.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Where several operations read a tensor, its gradients meet: the engine adds what a node has just
/// made to what it has gathered from those behind (torch/csrc/autograd/input_buffer.cpp). A sum
/// hands its gradient on as it is: no kernel shows that.
class GatheredGradients {
 public:
  explicit GatheredGradients(const Dataflow& flow) : flow_(flow) {}

  /// The tensors of operation `i` are known.
  void leave(std::uint32_t i);
  /// What the gradient `made`, which the node of `op` has just made, is added to; no_row: unknown.
  std::uint32_t met_by(const FlowOp& op, std::uint32_t made) const;

 private:
  void leave_forward(const FlowOp& op);
  void leave_backward(const FlowOp& op);
  /// The node of `op` has begun: what it was given is the gradient of what it made forward.
  void enter_node(const FlowOp& op);
  /// `op` adds another gradient to those it reads: `sum` stands for them from now on.
  void hand_over(const FlowOp& op, std::uint32_t sum);
  /// The tensor that the node of `op` read forward and `gradient` is of; no_row: unknown.
  std::uint32_t read_forward(const FlowOp& op, std::uint32_t gradient) const;
  /// Gathered for `tensor`, or for the sum that it went into.
  std::uint32_t gathered(std::uint32_t tensor) const;

  const Dataflow& flow_;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> operands_;  // by number of autograd
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> results_;   // the same
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sums_;     // by operand
  std::unordered_map<std::uint32_t, std::uint32_t> readers_;               // forward, by tensor
  std::unordered_map<std::uint32_t, std::uint32_t> gradient_of_;           // complete, by tensor
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_;  // tensors, gradients of this node
  std::uint32_t node_ = no_row;                                // root of the operation at hand
};

}  // namespace tandem
