// CUDA graphs of compiled code (torch.compile, mode "reduce-overhead"): the forward and the
// backward graph of the model are each launched as one, loss and optimizer stay eager.
#pragma once

#include <cstddef>
#include <vector>

#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "models/whatif/compile/host/graph_cuts.h"

namespace tandem {

/// Puts the launches of the compiled forward and backward graph of `step` behind graph launches: a
/// piece is a run of items of one thread and one compiled graph that wait for nothing. `spans`: of
/// the step before it was compiled. `gradients`: host time of storing the gradients of a pass,
/// which no graph holds and which follows the backward graph. Returns the number of pieces.
std::size_t capture_compiled(const HostModel& host, Duration gradients,
                             const std::vector<GraphSpan>& spans, Step& step);

}  // namespace tandem
