// Graphs that a compiler made: which operations are theirs, and what they are given.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Whether both have the same dimensions, and the trace says which.
bool same_recorded_dims(const TensorShape& a, const TensorShape& b);

/// Marks the operations of `flow` that ran inside of a compiled graph.
void mark_graphs(const Step& step, Dataflow& flow);

/// Rows of operations that hold generated code and list what their graph is given.
std::vector<std::uint32_t> graph_calls(const Step& step, const Dataflow& flow, bool backward);

/// What compiled graphs are given from outside.
struct GraphOperands {
  std::vector<TensorShape> parameters;  // with buffers
  std::vector<TensorShape> inputs;      // what grows with the batch, and what is no number
};

/// As a training graph lists them; of inference, what its operations read and none of them made.
/// `batch`: items of the step. Empty without compiled graphs.
GraphOperands graph_operands(const Step& step, const Dataflow& flow, std::int64_t batch);

}  // namespace tandem
