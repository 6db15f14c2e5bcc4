// Calls of compiled graphs, as a trace shows them. TorchDynamo makes one graph of a frame; around a
// model that is trained by several ranks, PyTorch's DDPOptimizer cuts that at the buckets of the
// gradients, so that each can be summed as soon as the backward pass of its piece is over.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/step.h"

namespace tandem {

/// Of one graph, forward or backward.
struct GraphCall {
  std::uint32_t op = no_row;     // row of Trace::ops
  std::uint32_t frame = no_row;  // row of the compiled frame that calls it forward
  std::int64_t node = -1;        // autograd number of the graph
  bool backward = false;
  ThreadId thread;
  TimePoint begin, end;              // of a node with the engine's range around it
  std::vector<std::uint32_t> items;  // of the plan, that it issues, in order
};

/// Those that issue something, in the order of time.
std::vector<GraphCall> graph_calls(const Step& step, const OpNesting& nesting);

/// A time of a host thread.
struct HostSpan {
  TimePoint begin;
  TimePoint end;
};

/// What is spent because the graphs of frames are cut.
struct CutSpans {
  /// Per thread. From the last call of a piece to the first of the next one, less what lies between
  /// two calls within a piece; and what the frame around the model, which calls no graph itself,
  /// does before and after it.
  std::vector<std::vector<HostSpan>> of_thread;
  std::int64_t cuts = 0;  // forward and backward
};
CutSpans spans_of_cuts(const Step& step, const OpNesting& nesting);

}  // namespace tandem
