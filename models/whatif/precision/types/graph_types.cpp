#include "models/whatif/precision/types/graph_types.h"

#include <algorithm>
#include <utility>

namespace tandem {

GraphTypes::GraphTypes(const Dataflow& flow, DataType half, std::vector<bool> lowered)
    : flow_(flow), half_(half), lowered_(std::move(lowered)) {
  std::vector<bool> otherwise(flow.tensors.size(), false);
  for_layers_.assign(flow.tensors.size(), false);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
      for_layers_[use.tensor] = true;
      otherwise[use.tensor] = otherwise[use.tensor] || !lowered_[i];
    }
  }
  for (std::size_t t = 0; t < for_layers_.size(); ++t) {
    for_layers_[t] = for_layers_[t] && !otherwise[t];
  }
}

/// What a generated kernel computes in: the widest type of what it goes through, which vectors of
/// channels, sums and numbers beside it are not.
DataType GraphTypes::type_of_large(const FlowOp& op, const std::vector<DataType>& types) const {
  std::int64_t most = 0;
  for (const FlowUse& use : flow_.inputs_of(op)) {
    if (is_autocast_type(types[use.tensor])) most = std::max(most, flow_.elements_of(use));
  }
  DataType widest = DataType::unknown;
  for (const FlowUse& use : flow_.inputs_of(op)) {
    const DataType type = types[use.tensor];
    if (!is_autocast_type(type) || flow_.elements_of(use) < most / 2) continue;
    if (widest == DataType::unknown || type == DataType::fp32) widest = type;
  }
  return widest;
}

void GraphTypes::retype(std::uint32_t op, TypeChange& change) const {
  const FlowOp& row = flow_.ops[op];
  const DataType large = lowered_[op] ? half_ : type_of_large(row, change.tensors);
  if (large != DataType::unknown) change.ops[op] = large;
  for (const std::uint32_t t : flow_.outputs_of(row)) {
    if (!is_autocast_type(flow_.tensors[t].type)) continue;
    change.tensors[t] = for_layers_[t] ? half_ : change.ops[op];
  }
}

void GraphTypes::fuse(std::vector<PlannedCast>& casts) const {
  const auto fused = [&](const PlannedCast& cast) {
    return flow_.ops[cast.reader].in_graph && !cast.parameter;
  };
  casts.erase(std::remove_if(casts.begin(), casts.end(), fused), casts.end());
}

}  // namespace tandem
