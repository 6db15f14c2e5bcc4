// Which operation of a step makes the tensors that another one reads. A trace names operands by
// shape and type only, so tensors are told apart by (elements, type) and the order of operations;
// a generated step says in which memory each of them lies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernel/kernel.h"
#include "models/ops/op_table.h"
#include "models/step/op_nesting.h"
#include "models/step/step.h"

namespace tandem {

enum class FlowPhase : std::uint8_t {
  forward,
  backward,  // on an autograd thread, or under an autograd node
  other,     // optimizer, gradient scaling, copies between host and device
};

struct FlowTensor {
  std::int64_t elements = 0;
  DataType type = DataType::unknown;
  std::uint32_t producer = no_row;  // index of Dataflow::ops; none: made before the step
  std::uint32_t consumers = 0;      // operations of the step that read it
  TensorMemory memory = {};
  /// The step writes into it and has not made it (caches of keys and values): it is kept from one
  /// step to the next. Also the result of writing.
  bool state = false;
  double bytes() const { return static_cast<double>(elements) * element_bytes(type); }
};

/// Whether they are as large and of one type: all that an operand tells of its tensor.
inline bool look_alike(const FlowTensor& a, const FlowTensor& b) {
  return a.elements == b.elements && a.type == b.type;
}

struct FlowUse {
  std::uint32_t tensor = 0;   // index of Dataflow::tensors
  std::uint8_t argument = 0;  // position among the operation's arguments
  std::int64_t part = 0;      // elements, where the operand is a slice of the tensor; else 0
};

/// One operation that launched device work itself (no operation inside it did).
struct FlowOp {
  std::uint32_t op = no_row;    // row of Trace::ops
  std::uint32_t root = no_row;  // row of the outermost operation around it
  const OpRow* row = nullptr;   // of the operation table
  OpKind kind = OpKind::other;
  FlowPhase phase = FlowPhase::other;
  std::uint32_t pass = 0;      // of those of the step, each forward and backward
  bool in_model = false;       // forward up to the loss and its backward: what a compiler is given
  bool of_view = false;        // what the node of a view launches in the backward of a network
  bool in_graph = false;       // a compiler made it, or put it into its graph
  bool overwrites = false;     // generated code: the result takes the place of the first operand
  std::int64_t sequence = -1;  // autograd number; a backward operation has that of its forward
  /// Autograd number of the node that a backward operation makes itself, where a gradient is asked
  /// of gradients (create_graph); else -1.
  std::int64_t makes = -1;
  /// Index of the forward operation that this one, of the backward pass, computes again.
  std::uint32_t repeats = no_row;
  std::uint32_t first_work = 0, work_count = 0;      // Dataflow::works
  std::uint32_t first_input = 0, input_count = 0;    // Dataflow::inputs
  std::uint32_t first_output = 0, output_count = 0;  // Dataflow::outputs
};

/// Whether it computes what the model is made of, in the forward pass or once more in the backward
/// pass, and no gradient.
inline bool runs_forward(const FlowOp& op) {
  return op.phase == FlowPhase::forward || op.repeats != no_row;
}

/// Whether it computes gradients.
inline bool runs_backward(const FlowOp& op) {
  return op.phase == FlowPhase::backward && op.repeats == no_row;
}

/// Whether the operation joins its operands along a dimension.
bool concatenates(const FlowOp& op);
/// Whether it is a product whose result the caller gave a place for: autocast has no say there
/// (PyTorch, autocast op reference: "in-place variants and calls that supply an out=... tensor").
bool fills_given_result(const Trace& trace, const FlowOp& op);

/// In the order in which the host launched them.
struct Dataflow {
  OpNesting nesting;
  std::vector<FlowOp> ops;
  std::vector<FlowTensor> tensors;
  std::vector<std::uint32_t> works;       // indices of Plan::works
  std::vector<FlowUse> inputs;            // tensor operands
  std::vector<std::uint32_t> outputs;     // indices of tensors
  std::vector<std::uint32_t> op_of_work;  // per work of the plan: index of ops, or no_row

  std::span<const FlowUse> inputs_of(const FlowOp& op) const {
    return {inputs.data() + op.first_input, op.input_count};
  }
  /// Forward and backward passes; more than one where the step adds up their gradients.
  std::uint32_t passes() const { return ops.empty() ? 1 : ops.back().pass + 1; }
  /// Place of one of `ops`.
  std::uint32_t place_of(const FlowOp& op) const {
    return static_cast<std::uint32_t>(&op - ops.data());
  }
  /// Whether the step computes gradients.
  bool trains() const {
    return std::any_of(ops.begin(), ops.end(),
                       [](const FlowOp& op) { return op.phase == FlowPhase::backward; });
  }
  /// Whether part of it ran in graphs that a compiler made.
  bool has_graphs() const {
    return std::any_of(ops.begin(), ops.end(), [](const FlowOp& op) { return op.in_graph; });
  }
  /// Elements of the operand.
  std::int64_t elements_of(const FlowUse& use) const {
    return use.part > 0 ? use.part : tensors[use.tensor].elements;
  }
  std::span<const std::uint32_t> outputs_of(const FlowOp& op) const {
    return {outputs.data() + op.first_output, op.output_count};
  }
  std::span<const std::uint32_t> works_of(const FlowOp& op) const {
    return {works.data() + op.first_work, op.work_count};
  }
};

/// Whether the operation reads one of `tensors`, a truth value for each of the flow.
bool reads_any(const Dataflow& flow, const FlowOp& op, const std::vector<bool>& tensors);

/// Whether the operation multiplies FP32 numbers in TF32, as its kernels tell.
bool uses_tf32(const Step& step, const Dataflow& flow, const FlowOp& op);

/// Whether the images of a layer are pictures. The framework hands lines to the library as images
/// of one row: the layer around that call tells.
bool of_pictures(const Trace& trace, const Dataflow& flow, const FlowOp& op, std::size_t image);

/// The operands of the product of a batch with another factor that the operation was called for, or
/// null: the framework has copied such a batch into one matrix.
const OpTensors* product_of_batch(const Trace& trace, const Dataflow& flow, const FlowOp& op);

/// Whether the labels that count for nothing are -1 where the loss is computed: so it is in nanoGPT
/// and in what is built like it, whose models are handed the labels and state their loss.
bool ignores_minus_one(const Trace& trace, const OpNesting& nesting, std::uint32_t row);

/// Operations without shapes have neither inputs nor outputs.
Dataflow dataflow(const Step& step);

}  // namespace tandem
