// How many items a step of a trace works on: those of a batch, and how many batches.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

struct BatchSize {
  std::optional<std::int64_t> items;  // of one pass, which is what tensors have
  bool behind_graph = false;  // the first layer that a trace tells of comes after a CUDA graph
  std::int64_t passes = 1;    // whose gradients one step of the optimizer uses
};

/// What the annotation of the steps says, else the leading dimension of the input of the first
/// convolution, embedding or linear layer of the first step (compiled: of the first tensor that its
/// code is given and no gradient reaches, where products merged the batch); where that counts rows
/// and the network puts several of them together, of the input of its last layer; nothing if the
/// trace has no shapes, or if a CUDA graph is launched before, of which the trace does not tell
/// what it is given: its layers come first, and what follows may count other things (the points of
/// a prompt, not images).
BatchSize batch_size(const Trace& trace, const Links& links);

/// Leaves out the steps of another batch than that of most (of equally many, of the last): those of
/// a short last batch, of buckets of sequences. Returns how many these are.
std::int64_t keep_steps_of_one_batch(const Trace& trace, Links& links);

}  // namespace tandem
