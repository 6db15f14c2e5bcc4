// Constants of collectives between the GPUs of one host (configs/kernels/collectives.json).
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields/provenance.h"

namespace tandem {

/// A protocol of NCCL: how data and the flag that says it is there travel.
struct LinkProtocol {
  double base_us = 0;     // a kernel that moves next to nothing to one neighbour, hop excluded
  double hop_us = 0;      // each further step of the ring
  double link_share = 0;  // of the link rate that rings reach
  double most_gbps = 0;   // a limit of its own, per rank
};

/// Buckets in which ranks sum gradients, in the order of the backward pass. Zero: none.
struct GradientBuckets {
  double first_bytes = 0;
  double further_bytes = 0;
};

/// Host time of PyTorch's fully_shard over a launch call, both under the profiler and without the
/// launch calls of what it issues. A unit's grows with its number of parameters.
struct ShardHost {
  double step = 0;    // once a step, around the root
  double gather = 0;  // of issuing a unit's gather
  double gather_parameter = 0;
  double use = 0;  // of making its parameters usable in the forward pass, and giving them back
  double use_again = 0;  // the same in the backward pass
  double use_parameter = 0;
  double scatter = 0;  // of copying and scattering its gradients
  double scatter_parameter = 0;
  double scatter_gb = 0;  // for each GB of them, whose blocks the host lists
  double update = 0;      // more for an operation of the optimizer on a list
  double bare = 0;        // share of a unit's that is Python alone, which no profiler slows
};

struct CollectiveLaw {
  std::string name;
  LinkProtocol low_latency;     // LL: 4 bytes of data and 4 of flag
  LinkProtocol simple;          // whole chunks, then a flag
  double gather_factor = 0;     // rate of all-gathers and reduce-scatters over all-reduces
  double broadcast_factor = 0;  // the same of broadcasts
  // Among more than two ranks, whose rings use more of the links, over those between two.
  double more_reduce_factor = 1, more_gather_factor = 1, more_direct_factor = 1;
  double direct_base_us = 0;     // sends to all other ranks at once (all-to-all)
  double direct_link_share = 0;  // of one direction of the link
  double pcie_share = 0;         // of the host link's copy rate, for GPUs without links
  double host_gpus = 0;          // ranks that one host holds
  // PyTorch's data parallelism.
  double first_bucket_bytes = 0;  // of DistributedDataParallel: the first bucket that is ready
  double bucket_bytes = 0;        // the others
  double hook_host_ratio = 0;     // host time of one gradient's hook over a launch call, profiled
  double bucket_host_ratio = 0;   // the same of issuing one bucket
  double finish_host_ratio = 0;   // the same of copying one gradient back
  double flatten_host_ratio = 0;  // the same of packing one buffer
  double buffer_host_ratio = 0;   // the same of copying one buffer to its place
  ShardHost shard_host;
  double list_copy_factor = 1;  // time of a copy of a list of tensors over that of its bytes
  double list_chunk_us = 0;     // ... that goes in chunks: of one of them, by a block of its own
  double ranks_exponent = 0;    // host time of one of n ranks over that of one: n to this
  double ring_blocks = 0;       // blocks of a collective's kernel, one a channel
  // What predictions are off by, relative.
  double expected_error = 0;  // of the time that data moves
  double beside_error = 0;    // of kernels beside it
  // What steps among another number of ranks are off by, relative.
  double shared_host_error = 0;  // by how hosts share their cores
  double more_ranks_error = 0;   // more of it beyond twice the traced ranks
  std::vector<Provenance> origins;

  GradientBuckets buckets() const { return {first_bucket_bytes, bucket_bytes}; }
};

/// Errors: InputError for a file that cannot be read.
CollectiveLaw load_collective_law(const std::string& path);

}  // namespace tandem
