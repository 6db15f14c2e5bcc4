// Forward and backward passes of a step, as parts of it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/edit/rearranged.h"

namespace tandem {

/// From the first operation of the program, or the end of the pass before, to where the gradients
/// are there.
struct TracedPass {
  TimePoint from{}, until{};
  ThreadId program;  // the thread of the forward pass
};

/// Of a step that trains, in order.
std::vector<TracedPass> traced_passes(const Step& step, const Dataflow& flow);

/// A pass without what an optimizer does in it, which drops gradients before the first one.
std::vector<HostPart> parts_of(const Step& step, const TracedPass& pass);

/// Time, as traced, between two moments in which no optimizer runs.
Duration outside_optimizer(const Trace& trace, TimePoint from, TimePoint until);

}  // namespace tandem
