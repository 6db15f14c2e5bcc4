// What DistributedDataParallel makes of the compiled graphs of a step that trained alone.
#pragma once

#include <cstdint>
#include <vector>

#include "models/whatif/edit/gradients.h"
#include "models/whatif/ranks/cut_graphs.h"

namespace tandem {

/// Cuts each graph at the buckets of its parameters, which PyTorch's DDPOptimizer fills from the
/// last operation of the forward pass to the first; the graph's operands tell that order. Sorts
/// `gradients` as the pieces make them ready, each with the last work of its piece: a trace does
/// not tell the works of a piece, so each has as many. The items before which the host enters one
/// more graph, forward and backward, and one for the frame of DistributedDataParallel itself.
std::vector<std::uint32_t> cut_at_buckets(const Step& step, const std::vector<GraphCall>& calls,
                                          const GradientBuckets& buckets,
                                          std::vector<Gradient>& gradients);

/// Channels of each norm that keeps statistics, of the operands of compiled graphs: a counter each,
/// and two rows of numbers that no gradient reaches.
std::vector<std::int64_t> tracked_by_graphs(const Step& step, const std::vector<GraphCall>& calls,
                                            const std::vector<Gradient>& gradients);

}  // namespace tandem
