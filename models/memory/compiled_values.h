// The values that pass between the operations of a step that a compiler has made one graph of, and
// which of them it keeps for the backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/memory/compiled_lives.h"

namespace tandem {

constexpr std::uint32_t no_value = static_cast<std::uint32_t>(-1);

/// What an operation leaves in a storage: with each write another value.
struct GraphValue {
  std::uint32_t storage = 0;
  std::uint32_t producer = no_value;  // operation; no_value: no operation of the graph
  std::uint32_t first = 0;            // operation that makes it, or else reads it first
  std::int64_t bytes = 0;             // 0: lives all along, and counts there
  bool pinned = false;                // cannot be computed again
  bool inside = false;                // of a kernel: never in memory in its own pass
  bool inlined = false;               // no buffer of its own: each reader computes it (inlined.h)
  bool wide = false;                  // its buffer is of FP32, the storage of 16 bits
  bool padded = false;                // its rows are (GraphWrite)
  bool saved = false;                 // for the backward pass
  std::vector<std::uint32_t> readers = {};
  std::int64_t overwritten = -1;                       // by this operation, in place
  std::int64_t last_forward = -1, last_backward = -1;  // reader, also through values inside kernels
};

/// Whether a compiler writes the operation's code, as part of a kernel with others.
bool is_written(const GraphOp& op);

struct GraphValues {
  std::span<const GraphOp> ops;
  std::span<const GraphStorage> storages;
  std::vector<GraphValue> values;
  std::vector<std::vector<std::uint32_t>> inputs;  // by operation: values
  std::vector<std::vector<std::uint32_t>> outputs;
  std::vector<std::uint32_t> level;  // by operation: library kernels before it

  bool written(std::uint32_t op) const { return is_written(ops[op]); }
  bool is_forward(const GraphValue& v) const {
    return v.producer == no_value || ops[v.producer].phase == GraphPhase::forward;
  }
  /// What a buffer of the value takes.
  MemoryMoment buffer(const GraphValue& v) const;
  /// A library kernel of the backward pass reads it.
  bool by_library_after(const GraphValue& v) const;
};

/// `saving` says what is kept (compiled_lives.h). `ops` and `storages` outlive the result.
GraphValues graph_values(std::span<const GraphOp> ops, std::span<const GraphStorage> storages,
                         Saving saving);

}  // namespace tandem
