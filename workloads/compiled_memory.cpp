#include "workloads/compiled_memory.h"

#include <utility>
#include <vector>

#include "models/memory/lives.h"
#include "models/ops/op_table.h"

namespace tandem {
namespace {

constexpr GraphPhase graph_phases[] = {GraphPhase::forward, GraphPhase::backward,
                                       GraphPhase::optimizer};

/// Whether a pass begins between the two operations: forward behind gradients.
bool begins_pass(const GraphOp& before, const GraphOp& op) {
  return before.phase == GraphPhase::backward && op.phase == GraphPhase::forward;
}

std::vector<GraphOp> graph_of(const Network& network) {
  std::vector<GraphOp> ops;
  ops.reserve(network.ops.size());
  for (const NetworkOp& op : network.ops) {
    GraphOp out{&op_row(op.name), graph_phases[static_cast<std::size_t>(op.phase)]};
    if (!ops.empty()) out.pass = ops.back().pass + (begins_pass(ops.back(), out) ? 1 : 0);
    // Those of a further pass the framework adds to those of the passes before.
    if (out.pass > 0 && op_row(op.node).is(stores_gradients)) out.row = nullptr;
    for (const NetworkArgument& a : op.arguments) {
      for (const std::uint32_t t : a.tensors) out.reads.push_back(network.tensors[t].storage);
    }
    for (const std::uint32_t t : op.outputs) {
      const bool mask =
          op_row(op.name).kind == OpKind::dropout && network.tensors[t].type == DataType::boolean;
      out.writes.push_back({network.tensors[t].storage, mask});
    }
    ops.push_back(std::move(out));
  }
  return ops;
}

}  // namespace

NetworkMemory compiled_memory(const BoundNetwork& bound, Saving saving, const BoundNetwork* twice) {
  const Network& network = *bound.network;
  const std::vector<MemoryMoment> taken = storage_bytes(bound, twice);
  NetworkMemory out;
  std::vector<GraphStorage> storages(network.storages.size());
  for (const NetworkTensor& t : network.tensors) storages[t.storage].type = t.type;
  for (std::size_t s = 0; s < storages.size(); ++s) {
    const StorageKind kind = network.storages[s];
    storages[s].gradient = kind == StorageKind::gradient;
    if (storages[s].gradient || kind == StorageKind::activation) {
      storages[s].bytes = taken[s];
    } else if (kind != StorageKind::host) {
      out.kept += taken[s];
    }
  }
  const std::vector<GraphOp> ops = graph_of(network);
  const auto moments = [&](Saving how) {
    return worst_moments(compiled_lives(ops, storages, how), ops.size(), out.kept);
  };
  out.moments = moments(Saving::cheapest);
  if (saving == Saving::cheapest) return out;
  // Computing again takes memory, too, which small networks do not win back.
  std::vector<MemoryMoment> least = moments(Saving::least);
  if (worst_bytes(least) < out.peak_bytes()) out.moments = std::move(least);
  return out;
}

}  // namespace tandem
