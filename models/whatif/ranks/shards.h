// Parameters of which each rank keeps a part, among another number of ranks.
#pragma once

#include <cstdint>

#include "models/step/memory/sharded_parameters.h"
#include "models/step/step.h"

namespace tandem {

/// What a rank does with its own part of parameters, gradients and states of the optimizer (the
/// update, and the copies into what is gathered), once `to` ranks hold what those of `held` did:
/// kernels on as many elements less. `floor_us`: of a kernel's time, that does not follow its
/// elements. `launch_call_us`: as of StepEdit.
Step with_shards(Step step, const ShardedParameters& held, int to, double floor_us,
                 double launch_call_us, std::int64_t& kernels);

}  // namespace tandem
