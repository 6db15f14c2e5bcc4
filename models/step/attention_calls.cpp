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
    if (row != nullptr && row->kind == OpKind::attention) call = r;
  }
  return call;
}

std::optional<AttentionShape> attention_shape_of(const Trace& trace, const FlowOp& op) {
  static const LaunchGeometry none;
  const Operands& in = operands_of(trace, op.op);
  return attention_shape({text_of(trace, trace.ops.name[op.op]), in.tensors, in.arguments, none});
}

}  // namespace tandem
