// Which types autocast exchanges, and where gradients are complete.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "models/whatif/precision/types/types.h"

namespace tandem {

bool is_autocast_type(DataType type) { return type == DataType::fp32 || is_half(type); }

BackwardIndex::BackwardIndex(const Trace& trace, const Dataflow& flow) : flow_(flow) {
  std::unordered_map<std::int64_t, std::uint32_t> last;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (runs_backward(op) && op.sequence >= 0) last[op.sequence] = i;
  }
  for (const FlowOp& op : flow.ops) {
    const auto node = last.find(op.sequence);
    if (!runs_forward(op) || node == last.end()) continue;
    const std::uint32_t root = flow.ops[node->second].root;
    const OpRow* forward = forward_of_node(text_of(trace, trace.ops.name[root]));
    if (forward != nullptr && forward->kind == op.kind) owner_[op.sequence] = op.root;
  }
  runs_again_.assign(flow.ops.size(), false);
  for (const FlowOp& op : flow.ops) {
    if (op.repeats != no_row) runs_again_[op.repeats] = true;
  }
  by_sequence_.assign(last.begin(), last.end());
  std::sort(by_sequence_.begin(), by_sequence_.end());
}

std::uint32_t BackwardIndex::last_of(const FlowOp& op) const {
  if (runs_again_[flow_.place_of(op)]) return no_row;
  const auto owner = owner_.find(op.sequence);
  if (owner != owner_.end() && owner->second != op.root) return no_row;
  // Nodes run from the highest number down: without work of its own, after that of the next higher.
  const auto at = std::lower_bound(by_sequence_.begin(), by_sequence_.end(),
                                   std::pair<std::int64_t, std::uint32_t>(op.sequence, 0));
  if (at != by_sequence_.end()) return at->second;
  return no_row;
}

}  // namespace tandem
