// The peak of memory of a step that a what-if has put together anew.
#pragma once

#include "models/whatif/transform.h"

namespace tandem {

/// What stays in memory as what-ifs before have made it, or as traced. `in.memory` is known.
const PeakMemory& held_memory(const TransformInput& in, const Rewritten& out);

/// Liveness of `out.step`, whose weights are as wide as what-ifs before have made them, beside that
/// of the traced step. Returns the ratio of the peaks at the traced batch; 1 where none is known.
double change_live_memory(const TransformInput& in, Rewritten& out);

}  // namespace tandem
