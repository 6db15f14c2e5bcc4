// Into which graphs a compiler cuts a model: where Python looks at a value, or calls what the
// compiler does not follow, it closes a graph and opens another behind.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/compile/host/bucket_cuts.h"

namespace tandem {

/// Graph of operations that run as they did before.
constexpr std::uint32_t runs_eager = no_row;

/// Which graph each operation belongs to; a graph has a forward and a backward part.
struct GraphCuts {
  std::vector<std::uint32_t> graph_of;  // per operation of the data flow, or runs_eager
  std::uint32_t breaks = 0;             // places where a graph of the forward pass ends early
  std::uint32_t bucket_cuts = 0;        // places where one is cut for the sake of other ranks
};

/// A model that is one graph in each of its passes.
GraphCuts uncut(const Dataflow& flow);

/// TorchDynamo's cuts of the model (PyTorch 2.11):
///  - a number that Python reads (Tensor.item), or a truth value of a tensor of the host
///    (LayerDrop's draw). Truth values of the device are questions that libraries do not ask where
///    they are compiled (host_reads.h);
///  - results whose size the device tells;
///  - recurrent layers, which run as they did before, and with them the rest of the function that
///    calls them. A trace does not name functions: theirs ends where two tensors of one shape are
///    added, a residual that the function around it holds, or with the model.
/// Operations of the backward pass belong to the graph of theirs in the forward pass. Each pass of
/// a step that adds up gradients has graphs of its own, with as many breaks.
/// Each graph that several ranks train is cut once more at its buckets (bucket_cuts.h).
GraphCuts graph_cuts(const Step& step, const Dataflow& flow, const GradientBuckets& buckets = {});

/// From when on the host launches operations of a graph.
struct GraphSpan {
  TimePoint begin;
  std::uint32_t graph = 0;
};
/// In the order of time.
std::vector<GraphSpan> graph_spans(const Step& step, const Dataflow& flow, const GraphCuts& cuts);

}  // namespace tandem
