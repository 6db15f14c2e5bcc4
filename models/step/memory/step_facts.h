// What the data flow of a step tells of the lives of its tensors: parameters, gradients, copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/ops/op_table.h"
#include "models/step/binding/compiled_graphs.h"
#include "models/step/dataflow.h"
#include "models/step/memory/second_gradients.h"
#include "models/step/memory/trained_parameters.h"
#include "models/step/op_rows.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// Parameters that the forward operations of a step read or its gradients reach, by size. Of a
/// product without bias only the layer around it tells which operand is one.
class StepParameters {
 public:
  StepParameters(const Step& step, const Dataflow& flow, const GraphOperands& graphs) {
    for (const TensorShape& t : graphs.parameters) add(t);
    OpRows rows(step.trace);
    const TrainedParameters trained(step.trace, step.links.steps.back());
    for (const TensorShape& t : trained.shapes()) add(t);
    std::vector<bool> seen(step.trace.ops.size(), false);
    for (const FlowOp& op : flow.ops) {
      if (op.phase != FlowPhase::forward) continue;
      for (std::uint32_t r = op.op; r != no_row && !seen[r]; r = flow.nesting.parent[r]) {
        if (r != op.op && rows.of(r).kind == OpKind::recurrent) continue;  // lists its state, too
        seen[r] = true;
        add(operands_of(step.trace, r), rows.of(r).arguments.parameters);
      }
    }
  }
  bool has(std::int64_t elements) const { return sizes_.count(elements) > 0; }
  bool has(const TensorShape& shape) const { return dims_.count(sorted(shape)) > 0; }

 private:
  template <class Arguments>
  void add(const Operands& in, const Arguments& parameters) {
    for (std::size_t i = 0; i < in.tensors.shapes.size(); ++i) {
      const TensorShape& t = in.tensors.shapes[i];
      if (contains(parameters, in.tensors.arguments[i])) add(t);
    }
  }

  void add(const TensorShape& t) {
    if (t.rank == 0) return;
    sizes_.insert(t.elements());
    dims_.insert(sorted(t));
  }

  /// Products read transposed weights.
  static std::vector<std::int64_t> sorted(const TensorShape& t) {
    std::vector<std::int64_t> out = dims_of(t);
    std::sort(out.begin(), out.end());
    return out;
  }

  std::set<std::int64_t> sizes_;
  std::set<std::vector<std::int64_t>> dims_;
};

/// What a step's data flow tells of its operations.
class StepFacts {
 public:
  StepFacts(const Step& step, const Dataflow& flow, const GraphOperands& graphs)
      : step_(step), flow_(flow), parameters_(step, flow, graphs), last_forward_(flow.passes(), 0) {
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      const FlowOp& op = flow.ops[i];
      if (op.phase == FlowPhase::forward) last_forward_[op.pass] = i;
      if (op.sequence < 0) continue;
      if (runs_backward(op)) backward_[op.sequence] = i, ++works_[op.sequence];
      if (!runs_forward(op)) continue;
      // What no gradient is asked of has the number of what comes next.
      const auto it = forward_.try_emplace(op.sequence, i).first;
      if (flow.ops[it->second].root != op.root) it->second = i;
    }
  }

  const StepParameters& parameters() const { return parameters_; }
  /// The last operation of the forward pass that belongs to the pass of this one.
  std::uint32_t last_forward(const FlowOp& op) const { return last_forward_[op.pass]; }

  /// A parameter's gradient in the type of the parameter lives to the end of the step, if no
  /// operation reads it but the optimizer, whose lists have no shapes; those of activations are
  /// read by others.
  bool is_gradient(const FlowOp& op, const FlowTensor& tensor) const {
    if (!runs_backward(op) || tensor.type != DataType::fp32) return false;
    if (op.makes >= 0) return false;  // who asked for it reads it, or none was made
    return tensor.memory.known() ? tensor.memory.role == TensorRole::gradient
                                 : parameters_.has(tensor.elements);
  }

  /// Operands of floating point that nothing has made are mostly parts of tensors; whole are those
  /// of other types, and what compiled code and recurrent layers hand on.
  bool no_view(const FlowOp& backward, std::uint32_t forward, DataType type) const {
    const auto opaque = [](const FlowOp& op) {
      return op.kind == OpKind::generated || op.kind == OpKind::recurrent;
    };
    return !is_floating(type) || opaque(backward) || opaque(flow_.ops[forward]);
  }

  std::string_view name_of(std::uint32_t row) const {
    return text_of(step_.trace, step_.trace.ops.name[row]);
  }

  /// A copy into memory that the operation around it has just asked for.
  bool is_fresh_copy(const FlowOp& op) const {
    const std::uint32_t parent = flow_.nesting.parent[op.op];
    return op.kind == OpKind::cast && parent != no_row && !is_in_place(name_of(parent)) &&
           is_framework_op(name_of(parent));
  }

  /// What an operation in place overwrites and its gradient needs, it copies before.
  bool is_kept_copy(const FlowOp& op) const {
    return is_fresh_copy(op) && is_in_place(name_of(op.root));
  }

  /// The last operation of the gradient of the forward operation with this number; 0 without.
  std::uint32_t backward_of(std::int64_t sequence) const {
    const auto it = backward_.find(sequence);
    return it == backward_.end() ? 0 : it->second;
  }

  /// The last operation of the backward node that operation `i` is part of, at least `i`: a node
  /// lets go of what was kept for it when all of it has run. What a compiler made frees as it goes.
  std::uint32_t end_of_node(std::uint32_t i) const {
    const std::uint32_t node = node_of(flow_.ops[i]);
    if (node == no_row || flow_.ops[i].in_graph) return i;
    std::uint32_t last = i;
    for (std::uint32_t n = i + 1; n < flow_.ops.size(); ++n) {
      if (!lies_within(flow_.nesting, flow_.ops[n].op, node)) break;
      last = n;
    }
    return last;
  }

  /// The last operation of the node that computes the gradient of a forward operation, or no_row:
  /// what no gradient is asked of has the number of what comes next.
  std::uint32_t gradient_of(const FlowOp& op) const {
    const std::uint32_t last = runs_forward(op) ? backward_of(op.sequence) : 0;
    if (last == 0) return no_row;
    const OpRow* forward = forward_of_node(name_of(flow_.ops[last].root));
    return forward == op.row ? last : no_row;
  }

  /// Whether autograd keeps the first operand though no operation is seen to read it: for its size
  /// alone, or to divide it once more where the divisor has a gradient, too.
  bool keeps_first(const FlowOp& op) const {
    constexpr std::uint32_t of_dividend = 2;  // a quotient, and perhaps a conversion
    if (op.row->is(tandem::keeps_first)) return true;
    const auto works = works_.find(op.sequence);
    return op.row->is(divides) && op.input_count == 2 && works != works_.end() &&
           works->second > of_dividend;
  }

  /// The last operation of the node that this gradient made (create_graph), where that runs later
  /// in the step, and reads the operand; else no_row.
  std::uint32_t gradient_of_gradient(const FlowOp& op, const FlowUse& use) const {
    if (op.makes < 0 || !keeps_for_gradient(flow_, op, use)) return no_row;
    const std::uint32_t last = backward_of(op.makes);
    return last == 0 ? no_row : last;
  }

  /// The first operation with this number, or no_row.
  std::uint32_t forward_of(std::int64_t sequence) const {
    const auto it = forward_.find(sequence);
    return it == forward_.end() ? no_row : it->second;
  }

 private:
  /// The nearest backward node around an operation, or no_row.
  std::uint32_t node_of(const FlowOp& op) const {
    std::uint32_t r = op.op;
    while (r != no_row && !is_backward_node(name_of(r))) r = flow_.nesting.parent[r];
    return r;
  }

  const Step& step_;
  const Dataflow& flow_;
  StepParameters parameters_;
  std::unordered_map<std::int64_t, std::uint32_t> works_;     // operations of a gradient
  std::unordered_map<std::int64_t, std::uint32_t> backward_;  // last operation by number
  std::unordered_map<std::int64_t, std::uint32_t> forward_;   // first operation of its owner
  std::vector<std::uint32_t> last_forward_;                   // by pass
};

}  // namespace tandem
