#include "models/step/attention_calls.h"

namespace tandem {

const FlowOp* forward_attention(const Dataflow& flow, const FlowOp& op) {
  if (op.kind == OpKind::attention) return &op;
  if (op.kind != OpKind::attention_backward) return nullptr;
  for (const FlowOp& other : flow.ops) {
    if (other.kind == OpKind::attention && other.sequence == op.sequence) return &other;
  }
  return nullptr;
}

std::uint32_t attention_call(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  std::uint32_t call = op.op;
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const OpRow* row = find_op(text_of(trace, trace.ops.name[r]));
    const bool attends = row != nullptr && row->kind == OpKind::attention;
    if (attends && !operands_of(trace, r).tensors.shapes.empty()) call = r;
  }
  return call;
}

namespace {

/// Of an operation backward, or of the one that called it.
bool asks_for_mask(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  constexpr std::size_t mask = 3;  // of query, key, value and mask
  if (op.kind != OpKind::attention_backward) return false;
  const std::uint32_t call = enclosing(trace, flow.nesting, op.op, [](const OpRow& row) {
    return row.arguments.has(ArgumentName::asked);
  });
  if (call == no_row) return false;
  const std::uint8_t at =
      op_row(text_of(trace, trace.ops.name[call])).arguments.at(ArgumentName::asked);
  const auto asked = integers_of(operands_of(trace, call).argument(at));
  return asked.size() > mask && asked[mask] != 0;
}

}  // namespace

std::vector<bool> learned_masks(const Trace& trace, const Dataflow& flow) {
  std::vector<bool> out(flow.ops.size(), false);
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (!asks_for_mask(trace, flow, op)) continue;
    out[i] = true;
    const FlowOp* forward = forward_attention(flow, op);
    if (forward != nullptr) out[flow.place_of(*forward)] = true;
  }
  return out;
}

std::optional<AttentionShape> attention_shape_of(const Trace& trace, const FlowOp& op) {
  static const LaunchGeometry none;
  const Operands& in = operands_of(trace, op.op);
  return attention_shape({text_of(trace, trace.ops.name[op.op]), in.tensors, in.arguments, none});
}

}  // namespace tandem
