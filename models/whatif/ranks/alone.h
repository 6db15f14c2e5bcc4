// A rank of several, trained alone: what data parallelism does vanishes.
#pragma once

#include "models/step/step.h"

namespace tandem {

struct AloneReport {
  std::int64_t dropped = 0;  // works
  std::int64_t joined = 0;   // cuts of compiled graphs, forward and backward, that vanish
};

/// Without the kernels and copies of collectives, of their packing and unpacking, and without the
/// host time spent in their operations, in gathers of sharded parameters and in cuts of compiled
/// graphs (cut_graphs.h).
Step without_collectives(Step step, double launch_call_us, AloneReport& report);

}  // namespace tandem
