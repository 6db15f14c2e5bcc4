#include "models/whatif/compile/lowered.h"

#include <vector>

#include "models/kernel/kinds.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

/// Of most of the forward products and convolutions; FP32 without autocast.
DataType autocast_type(const Dataflow& flow) {
  std::size_t all = 0, half = 0;
  DataType type = DataType::fp32;
  for (const FlowOp& op : flow.ops) {
    if (!op.in_model || op.phase != FlowPhase::forward || op.output_count == 0) continue;
    if (op.kind != OpKind::matmul && op.kind != OpKind::convolution) continue;
    const DataType made = flow.tensors[flow.outputs_of(op)[0]].type;
    ++all;
    if (!is_half(made)) continue;
    ++half;
    type = made;
  }
  return 2 * half > all ? type : DataType::fp32;
}

bool is_wide_product(const Dataflow& flow, const FlowOp& op) {
  return op.kind == OpKind::matmul && op.in_model && op.phase == FlowPhase::backward &&
         op.output_count > 0 && flow.tensors[flow.outputs_of(op)[0]].type == DataType::fp32;
}

}  // namespace

void lower_backward_products(Dataflow& flow) {
  const DataType type = autocast_type(flow);
  if (!is_half(type)) return;
  std::vector<bool> lowered(flow.ops.size(), false);
  std::vector<bool> read_wide(flow.tensors.size(), false);
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    lowered[i] = is_wide_product(flow, flow.ops[i]);
    if (lowered[i]) continue;
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) read_wide[use.tensor] = true;
  }
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (!lowered[i]) continue;
    const FlowOp& op = flow.ops[i];
    for (const std::uint32_t t : flow.outputs_of(op)) flow.tensors[t].type = type;
    for (const FlowUse& use : flow.inputs_of(op)) {
      FlowTensor& t = flow.tensors[use.tensor];
      const bool gradient =
          t.producer != no_row && flow.ops[t.producer].phase == FlowPhase::backward;
      if (gradient && t.type == DataType::fp32 && !read_wide[use.tensor]) t.type = type;
    }
  }
}

bool is_lowered(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::matmul || op.output_count == 0) return false;
  const TensorShape* traced = operands_of(trace, op.op).tensors.at(0);
  return traced != nullptr && traced->type == DataType::fp32 &&
         is_half(flow.tensors[flow.outputs_of(op)[0]].type);
}

}  // namespace tandem
