#include "models/step/one_call.h"

namespace tandem {

std::uint32_t layer_in_one_call(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  return enclosing(trace, flow.nesting, op.op, [](const OpRow& row) { return row.is(fast_path); });
}

bool lies_in_fast_path(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  return layer_in_one_call(trace, flow, op) != no_row;
}

std::uint32_t block_in_one_call(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  return enclosing(trace, flow.nesting, op.op,
                   [](const OpRow& row) { return row.is(whole_block); });
}

WholeBlocks::WholeBlocks(const Trace& trace, const Dataflow& flow) : trace_(trace), flow_(flow) {
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::cast) continue;
    const std::uint32_t block = block_in_one_call(trace, flow, op);
    if (block != no_row) in_pieces_.insert(block);
  }
}

bool WholeBlocks::holds(const FlowOp& op) const {
  const std::uint32_t block = block_in_one_call(trace_, flow_, op);
  return block != no_row && in_pieces_.count(block) == 0;
}

bool WholeBlocks::leaves_in_pieces(const FlowOp& op) const {
  return op.kind == OpKind::attention && lies_in_fast_path(trace_, flow_, op) && !holds(op);
}

}  // namespace tandem
