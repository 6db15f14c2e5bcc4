// Which tensor each operand of an operation is.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/ops/op_outputs.h"
#include "models/step/binding/gathered_gradients.h"
#include "models/step/binding/hidden_tensors.h"
#include "models/step/binding/made_tensors.h"
#include "models/step/binding/node_operands.h"
#include "models/step/binding/norm_order.h"
#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Finds out which tensor each operand is, and which ones each operation makes: operations come in
/// the order in which the host launched them.
class Binder {
 public:
  Binder(const Step& step, Dataflow& flow);

  /// Inputs and outputs of Dataflow::ops[i].
  void bind_op(std::uint32_t i);
  /// Of compiled graphs.
  void see_new_tensors();

 private:
  /// Of an operation that repeats another one: what that one read and made, as of now.
  void bind_again(std::uint32_t i);
  /// The tensor that repeats `tensor`, if the backward pass has computed it again by now.
  std::uint32_t made_last(std::uint32_t tensor) const;
  std::uint32_t add(std::int64_t elements, DataType type, std::uint32_t producer,
                    TensorMemory memory = {});
  /// The results of operation `i` as its rule has them ...
  void bind_outputs(std::uint32_t i, const Operands& in, std::span<const OutputShape> outputs);
  /// ... and where it is known in which memory they lie.
  void bind_made(std::uint32_t i, const Operands& in, std::span<const OutputShape> outputs);
  /// The latest one; for further operands rather one that nobody has read yet, or that no library
  /// kernel made or read: those are read once.
  std::uint32_t latest(const Candidates& list, const FlowOp& op, bool further) const;
  /// The latest tensor that a slice can be a part of; an operation may read several parts of one.
  std::uint32_t latest_whole(const Candidates& list, const FlowOp& op) const;
  std::uint32_t find_backward(const FlowOp& op, const OpRow& row, const TensorShape& shape,
                              std::uint8_t argument, bool further);
  std::uint32_t find_in_memory(const FlowOp& op, const TensorShape& shape) const;
  std::uint32_t find(const FlowOp& op, const OpRow& row, const TensorShape& shape,
                     std::uint8_t argument, bool further);
  /// `tensor`, or an operand of this shape that was written into besides it: caches of keys and
  /// values, of which each is written once a step and then read.
  std::uint32_t state_meant(const FlowOp& op, std::uint8_t argument, const Candidates& list,
                            std::uint32_t tensor) const;
  /// Of an operation that writes into a tensor that no operation of the step has made.
  void see_state(const FlowOp& op);
  void bind_inputs(FlowOp& op, const OpRow& row, const OpTensors& operands);
  /// The latest one that is a parameter's copy or was computed of parameters alone.
  std::uint32_t latest_parameter(const Candidates& list, const FlowOp& op) const;
  /// Outputs of layers, and of what reads such: no parameter, though it may be as large as one.
  void see_activations(const FlowOp& op);

  const Step& step_;
  Dataflow& flow_;
  MadeTensors made_;
  HiddenTensors hidden_;
  NodeOperands node_;
  GatheredGradients gathered_;
  NormOrder norms_;
  std::unordered_map<std::uint32_t, std::uint32_t> again_;  // tensors by those that they repeat
  std::unordered_set<std::int64_t> overwritten_;  // numbers of autograd of operations in place
  std::vector<bool> core_reads_;                  // per tensor
  std::vector<bool> activations_;                 // per tensor; those behind its end are none
};

}  // namespace tandem
