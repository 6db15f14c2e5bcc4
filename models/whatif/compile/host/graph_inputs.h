// What is copied into CUDA graphs of compiled code before they are launched.
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/time/rates.h"
#include "models/whatif/compile/host/graph_cuts.h"

namespace tandem {

/// Tensors that a graph reads and no graph has made, copied to where it reads them.
struct CopiedInputs {
  std::uint32_t work = 0;  // the first of the graph
  double bytes = 0;
  double largest = 0;  // elements of one of them
  double chunks = 0;   // of all of them
};

/// Of each graph, forward the inputs of the step, backward gradients of what eager code computed
/// behind the forward pass (torch/_inductor/cudagraph_trees.py). Parameters, what the step keeps
/// and what other graphs hand on stay where they are. Indices count as no bytes.
/// `outside`: per operation of `flow`, whether the compiler leaves it to the framework.
std::vector<CopiedInputs> copied_inputs(const Dataflow& flow, const std::vector<bool>& outside,
                                        const GraphCuts& cuts);

/// By one kernel on the list, in chunks of which a block takes `chunk_us`, and launches of at most
/// `multi_tensor_chunks` of them.
double input_copy_us(const GpuArch& gpu, const FloorAndShare& moving, double chunk_us,
                     const CopiedInputs& inputs);

}  // namespace tandem
