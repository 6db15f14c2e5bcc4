// A rank of several, trained alone: what data parallelism does vanishes.
#pragma once

#include "models/step/step.h"

namespace tandem {

/// Without the kernels and copies of collectives, of their packing and unpacking, and without the
/// host time spent in their operations. `dropped`: works.
Step without_collectives(Step step, double launch_call_us, std::int64_t& dropped);

}  // namespace tandem
