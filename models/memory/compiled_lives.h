// What takes memory in a step that a compiler has made one graph of: what it saves for the backward
// pass, what it computes again, and what never leaves a kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/memory/lives.h"
#include "models/ops/op_table.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

enum class GraphPhase : std::uint8_t { forward, backward, optimizer };

/// Memory that operations read and write.
struct GraphStorage {
  MemoryMoment bytes;     // none: it is there all along, and counts elsewhere
  bool gradient = false;  // of a parameter: lives from its first writer to the end of the step
  bool unmade = false;    // no operation makes it, yet it lives from its first reader on
  DataType type = DataType::unknown;
};

struct GraphWrite {
  std::uint32_t storage = 0;
  bool mask = false;  // random: cannot be computed again
  /// Generated code puts its rows of an odd length further apart than a library does, so that its
  /// buffer has another size.
  bool padded = false;
};

/// One operation of a step, in the order of the eager run.
struct GraphOp {
  const OpRow* row = nullptr;  // null: left to the framework
  GraphPhase phase = GraphPhase::forward;
  std::vector<std::uint32_t> reads = {};  // storages
  std::vector<GraphWrite> writes = {};
  std::uint32_t pass = 0;  // graphs run once in each pass of a step that adds up gradients
};

enum class Saving : std::uint8_t {
  /// The cheapest set of values from which the backward pass can be computed without running
  /// library kernels again; what a library kernel of the backward pass reads is saved. As PyTorch's
  /// partitioner does ("min-cut rematerialization", AOTAutograd).
  cheapest,
  /// The same, but what library kernels read is computed again before them where that is possible:
  /// what XLA falls back to when memory runs out.
  least,
};

/// Chains of arithmetic run in one kernel up to the next library kernel or to a value that kernels
/// of several levels read; only what lies between kernels takes memory, and some of it waits for a
/// later value that takes its place (buffer_reuse.h). Gradients of parameters and what the
/// optimizer makes live as in an eager step.
std::vector<Life> compiled_lives(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages, Saving saving);

/// Per storage: whether generated code of the backward pass computes what the forward pass left in
/// it again, from the cheapest set of values.
std::vector<bool> computed_again(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages);

}  // namespace tandem
