// Peak of the caching allocator over a step of a network, by liveness of its storages.
#pragma once

#include "workloads/network.h"

namespace tandem {

/// What the framework's caching allocator gives for so many bytes: whole units.
double allocated_bytes(std::int64_t bytes, Framework framework);

struct NetworkMemory {
  double kept_bytes = 0;  // parameters, buffers, inputs and states, which live all along
  double peak_bytes = 0;  // at the worst moment, with them
};

/// Gradients live from their first writer to the end of the step, activations from their first
/// writer to their last reader, or as long as TensorFlow's tape holds them. Results of an operation
/// live while it reads its operands.
NetworkMemory network_memory(const BoundNetwork& network);

}  // namespace tandem
