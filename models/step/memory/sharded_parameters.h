// Parameters of which each rank keeps a part.
#pragma once

#include <cstdint>
#include <set>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What a rank holds of parameters that several ranks share (PyTorch's FSDP, ZeRO's third stage):
/// its part of each unit, and while it computes with a unit all of it.
struct ShardedParameters {
  int ranks = 1;                      // 1: each rank holds all of them
  double gathered_bytes = 0;          // of units that are whole at the worst moment
  double gradient_share = 1;          // of the gradients' bytes that live on to the optimizer
  double width = 1;                   // of what a rank keeps over what it gathers and computes with
  std::set<std::int64_t> unit_bytes;  // of wholes and parts: what the trace shows of their copies
                                      // does not tell when a whole one is given back
  /// Whether a rank's part of some unit is as long.
  bool is_part(std::int64_t bytes) const {
    return ranks > 1 && unit_bytes.count(bytes) > 0 && unit_bytes.count(bytes * ranks) > 0;
  }
};

/// From what the last step gathers before it computes and scatters after its gradients. A unit that
/// is gathered as often as it is scattered stays whole from the forward pass to its gradient; of
/// the others one is whole and the next one on its way. Units that are scattered in a type twice as
/// wide as they are gathered in are kept in that (MixedPrecisionPolicy). Gathers of anything else
/// than parameters (activations, in other kinds of parallelism) do not add up to them: then, and
/// without collectives, each rank holds all parameters.
ShardedParameters sharded_parameters(const Trace& trace, const Links& links);

}  // namespace tandem
