#include "workloads/compiled_memory.h"

#include <vector>

#include "models/memory/lives.h"
#include "models/ops/op_table.h"

namespace tandem {
namespace {

constexpr GraphPhase graph_phases[] = {GraphPhase::forward, GraphPhase::backward,
                                       GraphPhase::optimizer};

std::vector<GraphOp> graph_of(const Network& network) {
  std::vector<GraphOp> ops;
  ops.reserve(network.ops.size());
  for (const NetworkOp& op : network.ops) {
    GraphOp out{&op_row(op.name), graph_phases[static_cast<std::size_t>(op.phase)]};
    for (const NetworkArgument& a : op.arguments) {
      for (const std::uint32_t t : a.tensors) out.reads.push_back(network.tensors[t].storage);
    }
    for (const std::uint32_t t : op.outputs) {
      const bool mask =
          out.row->kind == OpKind::dropout && network.tensors[t].type == DataType::boolean;
      out.writes.push_back({network.tensors[t].storage, mask});
    }
    ops.push_back(std::move(out));
  }
  return ops;
}

}  // namespace

NetworkMemory compiled_memory(const BoundNetwork& bound, Saving saving) {
  const Network& network = *bound.network;
  NetworkMemory out;
  std::vector<GraphStorage> storages(network.storages.size());
  for (std::size_t s = 0; s < storages.size(); ++s) {
    const StorageKind kind = network.storages[s];
    const double bytes = allocated_bytes(bound.storage_bytes[s], network.framework);
    storages[s].gradient = kind == StorageKind::gradient;
    if (storages[s].gradient || kind == StorageKind::activation) {
      storages[s].bytes.fixed_bytes = bytes;
    } else if (kind != StorageKind::host) {
      out.kept_bytes += bytes;
    }
  }
  const std::vector<GraphOp> ops = graph_of(network);
  const auto peak = [&](Saving how) {
    return worst_bytes(
        worst_moments(compiled_lives(ops, storages, how), ops.size(), {out.kept_bytes, 0}));
  };
  out.peak_bytes = peak(Saving::cheapest);
  // Computing again takes memory, too, which small networks do not win back.
  if (saving == Saving::least) out.peak_bytes = std::min(out.peak_bytes, peak(Saving::least));
  return out;
}

}  // namespace tandem
