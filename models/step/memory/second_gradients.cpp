#include "models/step/memory/second_gradients.h"

namespace tandem {
namespace {

bool is_product_or_norm(OpKind kind) {
  switch (kind) {
    case OpKind::matmul:
    case OpKind::convolution:
    case OpKind::convolution_backward:
    case OpKind::attention:
    case OpKind::attention_backward:
    case OpKind::batch_norm:
    case OpKind::batch_norm_backward:
    case OpKind::row_norm:
    case OpKind::row_norm_backward:
    case OpKind::softmax:
    case OpKind::softmax_backward: return true;
    default: return false;
  }
}

bool has_factor_beside(const Dataflow& flow, const FlowOp& op, const FlowUse& use) {
  for (const FlowUse& other : flow.inputs_of(op)) {
    if (other.argument != use.argument && flow.elements_of(other) > 1) return true;
  }
  return false;
}

}  // namespace

bool keeps_for_gradient(const Dataflow& flow, const FlowOp& op, const FlowUse& use) {
  const OpRow& row = *op.row;
  const auto& saved = row.arguments;
  if (contains(saved.saved_inputs | saved.saved_outputs, use.argument)) return true;
  if (row.is(multiplies) || row.is(divides)) return has_factor_beside(flow, op, use);
  const bool curved = row.is(arithmetic) || row.is(nonlinear) || row.is(trigonometric);
  return curved || is_product_or_norm(op.kind);
}

}  // namespace tandem
