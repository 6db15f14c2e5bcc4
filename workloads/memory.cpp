#include "workloads/memory.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "models/memory/lives.h"

namespace tandem {
namespace {

/// Units of the caching allocators: PyTorch's CUDACachingAllocator and TensorFlow's BFCAllocator.
constexpr std::int64_t block_bytes[] = {512, 256};

constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

std::vector<Life> lives_of(const Network& network) {
  std::vector<Life> lives(network.storages.size(), Life{never, 0, {}});
  const auto touch = [&](std::uint32_t tensor, std::uint32_t op) {
    Life& life = lives[network.tensors[tensor].storage];
    life.first = std::min(life.first, op);
    life.last = std::max(life.last, op);
  };
  for (std::uint32_t i = 0; i < network.ops.size(); ++i) {
    for (const NetworkArgument& a : network.ops[i].arguments) {
      for (const std::uint32_t t : a.tensors) touch(t, i);
    }
    for (const std::uint32_t t : network.ops[i].outputs) touch(t, i);
  }
  return lives;
}

}  // namespace

double allocated_bytes(std::int64_t bytes, Framework framework) {
  return allocated_bytes(bytes, block_bytes[static_cast<std::size_t>(framework)]);
}

NetworkMemory network_memory(const BoundNetwork& bound) {
  const Network& network = *bound.network;
  std::vector<Life> lives;
  NetworkMemory out;
  const std::vector<Life> storages = lives_of(network);
  for (std::size_t s = 0; s < storages.size(); ++s) {
    const double bytes = allocated_bytes(bound.storage_bytes[s], network.framework);
    const StorageKind kind = network.storages[s];
    if (kind == StorageKind::host) continue;
    if (kind != StorageKind::gradient && kind != StorageKind::activation) {
      out.kept_bytes += bytes;
    } else if (storages[s].first != never) {
      lives.push_back(storages[s]);
      lives.back().bytes.fixed_bytes = bytes;
      if (kind == StorageKind::gradient) {
        lives.back().last = static_cast<std::uint32_t>(network.ops.size()) - 1;
      }
    }
  }
  out.peak_bytes = worst_bytes(worst_moments(lives, network.ops.size(), {out.kept_bytes, 0}));
  return out;
}

}  // namespace tandem
