#include "models/whatif/checkpoint/saved_end.h"

#include <algorithm>
#include <set>

namespace tandem {

namespace {

/// What the gradient of an operation reads of the forward pass.
struct Saves {
  bool operands = false, results = false;
  std::int64_t tensors = 0;
};

/// Of what only moves, converts or adds up gradients no tensor is kept.
bool only_moves(const FlowOp& op) {
  return op.kind == OpKind::cast || op.kind == OpKind::reduction || op.kind == OpKind::fill ||
         op.row->is(converts) || op.row->is(stores_gradients);
}

/// Statistics, masks and states, which the operation makes beside what it returns.
bool reads_states(const FlowOp& gradient) {
  switch (gradient.kind) {
    case OpKind::row_norm_backward:
    case OpKind::batch_norm_backward:
    case OpKind::attention_backward:
    case OpKind::pooling_backward:
    case OpKind::dropout:
    case OpKind::recurrent: return true;
    default: return false;
  }
}

void see_gradient(const Dataflow& flow, const FlowOp& gradient, std::int64_t number, Saves& saves) {
  if (only_moves(gradient)) return;
  saves.results |= reads_states(gradient);
  const OpArguments& args = gradient.row->arguments;
  for (const FlowUse& use : flow.inputs_of(gradient)) {
    const FlowTensor& tensor = flow.tensors[use.tensor];
    const bool made = tensor.producer != no_row;
    const bool forward = made && flow.ops[tensor.producer].phase == FlowPhase::forward;
    const bool own = forward && flow.ops[tensor.producer].sequence == number;
    // A parameter, or a part of what was made: no gradient of a layer comes from nowhere.
    const bool given = made ? forward && !own : flow.elements_of(use) > 1;
    const bool result = own || contains(args.saved_outputs, use.argument);
    const bool operand = given || contains(args.saved_inputs, use.argument);
    saves.results |= result;
    saves.operands |= operand;
    saves.tensors += result || operand;
  }
}

Saves saved_by(const Dataflow& flow, std::int64_t number) {
  Saves out;
  for (const FlowOp& op : flow.ops) {
    if (runs_backward(op) && op.sequence == number) see_gradient(flow, op, number, out);
  }
  return out;
}

std::int64_t tensors_saved(const Dataflow& flow, const LayerRange& layer) {
  std::set<std::int64_t> numbers;
  for (std::uint32_t i = layer.first; i < layer.end; ++i) numbers.insert(flow.ops[i].sequence);
  Saves out;
  for (const FlowOp& op : flow.ops) {
    if (!runs_backward(op) || numbers.count(op.sequence) == 0) continue;
    see_gradient(flow, op, op.sequence, out);
  }
  return out.tensors;
}

/// The outermost around an operation that notes its number.
std::uint32_t noted_row(const Trace& trace, const OpNesting& nesting, const FlowOp& op) {
  std::uint32_t out = op.op;
  for (std::uint32_t row = op.op; row != no_row; row = nesting.parent[row]) {
    const std::int64_t number = trace.ops.sequence[row];
    if (number >= 0 && number != op.sequence) break;
    if (number == op.sequence) out = row;
  }
  return out;
}

/// The node of a number, without the engine's range around it where it has one of its own.
std::uint32_t node_of_number(const Trace& trace, std::int64_t number) {
  std::uint32_t out = no_row;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.ops.sequence[op] != number) continue;
    const std::string_view name = text_of(trace, trace.ops.name[op]);
    if (!has_engine_prefix(name) && !is_backward_node(name)) continue;
    if (out == no_row || !has_engine_prefix(name)) out = op;
  }
  return out;
}

}  // namespace

std::optional<Recomputation> recomputation(const Step& step, const Dataflow& flow,
                                           const LayerRange& layer) {
  const Trace& trace = step.trace;
  const HostOps& ops = trace.ops;
  for (std::uint32_t i = layer.end; i-- > layer.first;) {
    const FlowOp& op = flow.ops[i];
    if (op.sequence < 0) continue;
    const Saves saves = saved_by(flow, op.sequence);
    const std::uint32_t node = node_of_number(trace, op.sequence);
    if ((!saves.operands && !saves.results) || node == no_row) continue;
    Recomputation out;
    out.saved = tensors_saved(flow, layer);
    const std::uint32_t first = flow.ops[layer.first].root;
    out.program = ops.thread[first];
    out.gradients = ops.thread[node];
    out.from = ops.begin[first];
    out.until =
        saves.results ? end_of(ops, op.root) : ops.begin[noted_row(trace, flow.nesting, op)];
    out.at = ops.begin[node] + picoseconds(1);
    return out;
  }
  return {};
}

}  // namespace tandem
