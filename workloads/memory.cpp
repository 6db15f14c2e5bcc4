#include "workloads/memory.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
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
  if (network.held) {
    for (const HeldMemory& held : *network.held) touch(held.tensor, held.until);
  }
  return lives;
}

/// Gradients and what the optimizer makes of all parameters at once.
double update_bytes(const Network& network, const std::vector<Life>& lives) {
  const auto first = std::find_if(network.ops.begin(), network.ops.end(),
                                  [](const NetworkOp& op) { return op.phase == Phase::optimizer; });
  const auto begin = static_cast<std::uint32_t>(first - network.ops.begin());
  std::vector<Life> then;
  for (const Life& life : lives) {
    if (life.last >= begin) then.push_back({std::max(life.first, begin), life.last, life.bytes});
  }
  return worst_bytes(worst_moments(then, network.ops.size()));
}

/// Operations whose gradient asks for the type or shape of their inputs, so that TensorFlow's tape
/// holds these until then, though no kernel of the backward pass reads them.
bool held_by_tape(const NetworkOp& op) {
  return op.phase == Phase::forward && (op.name == "AddV2" || op.name == "Cast");
}

/// The gradient of such an operation comes just before that of the one that made its input.
void hold_by_tape(const Network& network, std::vector<Life>& lives) {
  std::unordered_map<std::int64_t, std::uint32_t> gradients;  // by sequence
  for (std::uint32_t i = 0; i < network.ops.size(); ++i) {
    const NetworkOp& op = network.ops[i];
    if (op.phase == Phase::backward && op.sequence >= 0) gradients.try_emplace(op.sequence, i);
  }
  std::vector<std::int64_t> made_by(network.tensors.size(), -1);  // sequence
  for (const NetworkOp& op : network.ops) {
    for (const NetworkArgument& a : op.arguments) {
      for (const std::uint32_t t : a.tensors) {
        const auto gradient = gradients.find(made_by[t]);
        if (!held_by_tape(op) || gradient == gradients.end()) continue;
        Life& life = lives[network.tensors[t].storage];
        life.last = std::max(life.last, gradient->second);
      }
    }
    if (op.phase != Phase::forward) continue;
    for (const std::uint32_t t : op.outputs) made_by[t] = op.sequence;
  }
}

}  // namespace

double allocated_bytes(std::int64_t bytes, Framework framework) {
  return allocated_bytes(bytes, block_bytes[static_cast<std::size_t>(framework)]);
}

std::vector<MemoryMoment> storage_bytes(const BoundNetwork& bound, const BoundNetwork* twice) {
  const Framework framework = bound.network->framework;
  std::vector<MemoryMoment> out;
  for (std::size_t s = 0; s < bound.storage_bytes.size(); ++s) {
    const double now = allocated_bytes(bound.storage_bytes[s], framework);
    const double then =
        twice == nullptr ? now : allocated_bytes(twice->storage_bytes[s], framework);
    out.push_back({2 * now - then, then - now});
  }
  return out;
}

NetworkMemory network_memory(const BoundNetwork& bound, const BoundNetwork* twice) {
  const Network& network = *bound.network;
  const std::vector<MemoryMoment> taken = storage_bytes(bound, twice);
  std::vector<Life> lives;
  NetworkMemory out;
  std::vector<Life> storages = lives_of(network);
  if (network.framework == Framework::tensorflow) hold_by_tape(network, storages);
  for (std::size_t s = 0; s < storages.size(); ++s) {
    const StorageKind kind = network.storages[s];
    if (kind == StorageKind::host) continue;
    if (kind != StorageKind::gradient && kind != StorageKind::activation) {
      out.kept += taken[s];
    } else if (storages[s].first != never) {
      lives.push_back(storages[s]);
      lives.back().bytes = taken[s];
      if (kind == StorageKind::gradient) {
        lives.back().last = static_cast<std::uint32_t>(network.ops.size()) - 1;
      }
    }
  }
  out.moments = worst_moments(lives, network.ops.size(), out.kept);
  out.update_bytes = update_bytes(network, lives);
  return out;
}

}  // namespace tandem
