// Peak of memory over a step of a network that a compiler has made one graph of: what it saves for
// the backward pass, what it computes again, and what never leaves a kernel.
#pragma once

#include "workloads/memory.h"

namespace tandem {

enum class Saving : std::uint8_t {
  /// The cheapest set of values from which the backward pass can be computed without running
  /// library
  /// kernels again; what a library kernel of the backward pass reads is saved. As PyTorch's
  /// partitioner does ("min-cut rematerialization", AOTAutograd).
  cheapest,
  /// The same, but what library kernels read is computed again before them where that is possible:
  /// what XLA falls back to when memory runs out.
  least,
};

/// Chains of arithmetic run in one kernel up to the next library kernel or to a value that kernels
/// of several levels read; only what lies between kernels takes memory. Gradients of parameters
/// and what the optimizer makes live as in an eager step.
NetworkMemory compiled_memory(const BoundNetwork& network, Saving saving);

}  // namespace tandem
