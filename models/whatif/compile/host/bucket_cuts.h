// Where PyTorch's DDPOptimizer cuts a compiled graph of a model that several ranks train: a piece
// for each bucket of gradients, so that they can be summed while the backward pass goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "models/collective/collective_law.h"
#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Whether gradients are handed to other ranks when they reach their parameters
/// (DistributedDataParallel).
bool sums_gradients(const Step& step, const OpNesting& nesting);

/// Per operation of `forward` (indices of flow.ops, in order), which belong to the graphs
/// `graph_of`: whether a piece begins with it. Pieces are filled from the last operation of a graph
/// to the first; one closes where its parameters reach the cap, and what comes before the first
/// parameter is no piece of its own.
std::vector<bool> piece_begins(const Step& step, const Dataflow& flow,
                               const std::vector<std::uint32_t>& forward,
                               const std::vector<std::uint32_t>& graph_of,
                               const GradientBuckets& buckets);

}  // namespace tandem
