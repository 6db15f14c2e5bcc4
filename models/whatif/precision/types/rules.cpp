#include "models/whatif/precision/types/rules.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

using K = OpKind;

/// Gradients of parameters and what a node hands on follow the type of the forward operation.
bool follows_forward(OpKind kind) {
  switch (kind) {
    case K::pointwise:
    case K::cast:
    case K::fill:
    case K::gather:
    case K::scatter:
    case K::other:
    case K::optimizer: return false;
    default: return true;
  }
}

}  // namespace

DataType promoted(const Dataflow& flow, const FlowOp& op, const std::vector<DataType>& types,
                  bool& mixed) {
  DataType widest = DataType::unknown;
  const bool first_only = op.kind == K::batch_norm || op.kind == K::batch_norm_backward;
  for (const FlowUse& use : flow.inputs_of(op)) {
    const DataType type = types[use.tensor];
    if (!is_autocast_type(type) ||
        (flow.tensors[use.tensor].elements <= 1 && widest != DataType::unknown))
      continue;
    if (widest == DataType::unknown) {
      widest = type;
      if (first_only) break;
    } else if (type != widest) {
      mixed = true;
      if (type == DataType::fp32) widest = type;
    }
  }
  return widest;
}

DataType traced_type(const Dataflow& flow, const FlowOp& op) {
  for (const std::uint32_t t : flow.outputs_of(op)) {
    if (is_autocast_type(flow.tensors[t].type)) return flow.tensors[t].type;
  }
  for (const FlowUse& use : flow.inputs_of(op)) {
    if (is_autocast_type(flow.tensors[use.tensor].type)) return flow.tensors[use.tensor].type;
  }
  return DataType::unknown;
}

TypeChange unchanged(const Dataflow& flow) {
  TypeChange change;
  for (const FlowTensor& t : flow.tensors) change.tensors.push_back(t.type);
  for (const FlowOp& op : flow.ops) {
    change.ops.push_back(traced_type(flow, op));
    change.policies.push_back(CastPolicy::promote);
  }
  change.old_ops = change.ops;
  change.mixed.assign(flow.ops.size(), false);
  return change;
}

namespace {

/// Whether the logarithms are those of a cross entropy that is handed scores as a product made
/// them: it asks for their type (aten/native/LossNLL.cpp), so that autocast leaves them. Other
/// programs convert scores first, which an FP32 step does not show.
bool of_plain_scores(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != K::softmax || op.row->autocast != CastPolicy::full) return false;
  if (ignores_minus_one(trace, flow.nesting, op.op)) return true;
  const std::uint32_t next = flow.place_of(op) + 1;  // of a network, which holds no call around it
  return next < flow.ops.size() && ignores_minus_one(trace, flow.nesting, flow.ops[next].op);
}

}  // namespace

CastPolicy policy_of(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (of_plain_scores(trace, flow, op)) return CastPolicy::promote;
  const bool spared = !op.in_graph && fills_given_result(trace, op);
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const std::string_view name = text_of(trace, trace.ops.name[r]);
    if (r == op.op && spared) continue;
    if (cast_policy(name) == CastPolicy::lower) return CastPolicy::lower;
  }
  return spared ? CastPolicy::promote : cast_policy(text_of(trace, trace.ops.name[op.op]));
}

bool makes_angles(const Dataflow& flow, std::uint32_t i) {
  constexpr std::uint32_t look_ahead = 4;
  const FlowOp& op = flow.ops[i];
  if (op.kind != K::matmul || !runs_forward(op)) return false;
  if (op.row == nullptr || !op.row->is(batched)) return false;
  const auto end = std::min(i + 1 + look_ahead, static_cast<std::uint32_t>(flow.ops.size()));
  for (std::uint32_t k = i + 1; k < end; ++k) {
    const FlowOp& next = flow.ops[k];
    if (next.kind == K::matmul || next.row == nullptr) return false;
    if (next.row->is(trigonometric)) return true;
  }
  return false;
}

bool is_precision_cast(const Dataflow& flow, const FlowOp& op) {
  if (op.kind != K::cast || op.phase == FlowPhase::other) return false;
  const auto inputs = flow.inputs_of(op);
  const auto outputs = flow.outputs_of(op);
  if (inputs.empty() || outputs.empty()) return false;
  const DataType from = flow.tensors[inputs[0].tensor].type;
  const DataType to = flow.tensors[outputs[0]].type;
  return is_autocast_type(from) && is_autocast_type(to) && from != to &&
         (is_half(from) || is_half(to));
}

DataType backward_type(const Dataflow& flow, const TypeChange& change, const MadeTypes& made,
                       std::uint32_t i, std::uint32_t forward) {
  const FlowOp& op = flow.ops[i];
  const bool same_kind =
      forward != no_row && (follows_forward(op.kind) || flow.ops[forward].kind == op.kind ||
                            flow.ops[forward].kind == K::pooling);
  if (same_kind) return change.ops[forward];
  if ((op.kind == K::fill || op.kind == K::cast) && op.output_count > 0) {
    const DataType near = made.nearby(i, flow.tensors[flow.outputs_of(op)[0]].elements);
    if (near != DataType::unknown) return near;
  }
  bool mixed = false;
  return promoted(flow, op, change.tensors, mixed);
}

void sort_casts(std::vector<PlannedCast>& casts) {
  std::stable_sort(casts.begin(), casts.end(), [](const PlannedCast& a, const PlannedCast& b) {
    return std::pair(a.op, a.after) < std::pair(b.op, b.after);
  });
}

}  // namespace tandem
