// A step that trained alone, as one rank of several of which each keeps a part of the parameters:
// PyTorch's fully_shard (FSDP2) of every repeated layer and of the model around them.
#pragma once

#include <cstdint>

#include "models/step/step.h"
#include "models/whatif/ranks/rank_kernels.h"

namespace tandem {

struct FullyShardedReport {
  double elements = 0;        // of parameters that gradients reach
  std::int64_t units = 0;     // layers, and what is outside of them
  std::int64_t gathers = 0;   // of a step
  double gathered_bytes = 0;  // by them
  std::int64_t resized = 0;   // kernels that update a part of the parameters
};

/// A unit's parts are copied into a buffer, gathered, and copied to where its layer computes with
/// them: the root's before the forward pass, a layer's before its own forward pass and, one layer
/// ahead, before its backward pass. Behind that its gradients are copied into a buffer, summed and
/// scattered. The optimizer updates the parts. Gathers and their copies, and scatters, have streams
/// of their own. As PyTorch 2.11 does it (torch/distributed/fsdp/_fully_shard).
/// Errors: InputError for a step whose gradients were not recorded or are sparse, that a compiler
/// made, or that adds up gradients of several passes.
Step with_full_sharding(Step step, const RanksOptions& options, FullyShardedReport& report);

}  // namespace tandem
