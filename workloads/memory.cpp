#include "workloads/memory.h"

#include <algorithm>
#include <limits>

namespace tandem {
namespace {

/// Units of the caching allocators: PyTorch's CUDACachingAllocator and TensorFlow's BFCAllocator.
constexpr std::int64_t block_bytes[] = {512, 256};

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

struct Life {
  std::size_t first = never, last = 0;  // operations
};

std::vector<Life> lives_of(const Network& network) {
  std::vector<Life> lives(network.storages.size());
  const auto touch = [&](std::uint32_t tensor, std::size_t op) {
    Life& life = lives[network.tensors[tensor].storage];
    life.first = std::min(life.first, op);
    life.last = std::max(life.last, op);
  };
  for (std::size_t i = 0; i < network.ops.size(); ++i) {
    for (const NetworkArgument& a : network.ops[i].arguments) {
      for (const std::uint32_t t : a.tensors) touch(t, i);
    }
    for (const std::uint32_t t : network.ops[i].outputs) touch(t, i);
  }
  return lives;
}

}  // namespace

double allocated_bytes(std::int64_t bytes, Framework framework) {
  const std::int64_t unit = block_bytes[static_cast<std::size_t>(framework)];
  return static_cast<double>((bytes + unit - 1) / unit * unit);
}

NetworkMemory network_memory(const BoundNetwork& bound) {
  const Network& network = *bound.network;
  std::vector<Life> lives = lives_of(network);
  std::vector<double> change(network.ops.size() + 1, 0);
  NetworkMemory out;
  for (std::size_t s = 0; s < lives.size(); ++s) {
    const double bytes = allocated_bytes(bound.storage_bytes[s], network.framework);
    const StorageKind kind = network.storages[s];
    if (kind == StorageKind::host) continue;
    if (kind != StorageKind::gradient && kind != StorageKind::activation) {
      out.kept_bytes += bytes;
    } else if (lives[s].first != never) {
      change[lives[s].first] += bytes;
      if (kind == StorageKind::activation) change[lives[s].last + 1] -= bytes;
    }
  }
  double now = out.kept_bytes;
  for (const double c : change) {
    now += c;
    out.peak_bytes = std::max(out.peak_bytes, now);
  }
  return out;
}

}  // namespace tandem
