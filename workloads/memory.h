// Peak of the caching allocator over a step of a network, by liveness of its storages.
#pragma once

#include <vector>

#include "models/memory/lives.h"
#include "workloads/network.h"

namespace tandem {

/// What the framework's caching allocator gives for so many bytes: whole units.
double allocated_bytes(std::int64_t bytes, Framework framework);

struct NetworkMemory {
  MemoryMoment kept;  // parameters, buffers, inputs and states, which live all along
  std::vector<MemoryMoment> moments;  // that can be the worst, with them
  // Most that lives beside what is kept while parameters are updated, which no compiler changes.
  double update_bytes = 0;
  double peak_bytes() const { return worst_bytes(moments); }
};

/// What each storage of `network` takes, by storage. What grows is what it takes more in `twice`,
/// the same network at twice the batch; null: no part grows.
std::vector<MemoryMoment> storage_bytes(const BoundNetwork& network, const BoundNetwork* twice);

/// Gradients live from their first writer to the end of the step, activations from their first
/// writer to their last reader, or as long as TensorFlow's tape holds them. Results of an operation
/// live while it reads its operands. `twice`: as of storage_bytes.
NetworkMemory network_memory(const BoundNetwork& network, const BoundNetwork* twice = nullptr);

}  // namespace tandem
