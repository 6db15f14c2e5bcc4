// Which types autocast exchanges, and where gradients are complete.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "models/whatif/precision/types/types.h"

namespace tandem {

bool is_autocast_type(DataType type) { return type == DataType::fp32 || is_half(type); }

BackwardIndex::BackwardIndex(const Dataflow& flow) {
  std::unordered_map<std::int64_t, std::uint32_t> last;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::backward && op.sequence >= 0) last[op.sequence] = i;
  }
  by_sequence_.assign(last.begin(), last.end());
  std::sort(by_sequence_.begin(), by_sequence_.end());
}

std::uint32_t BackwardIndex::last_of(std::int64_t sequence) const {
  // Nodes run from the highest number down: without work of its own, after that of the next higher.
  const auto at = std::lower_bound(by_sequence_.begin(), by_sequence_.end(),
                                   std::pair<std::int64_t, std::uint32_t>(sequence, 0));
  if (at != by_sequence_.end()) return at->second;
  return no_row;
}

}  // namespace tandem
