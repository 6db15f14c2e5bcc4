// Parameters of which each rank keeps a part, among another number of ranks.
#pragma once

#include <cstdint>

#include "models/step/step.h"

namespace tandem {

/// What a rank does with its own part of parameters, gradients and states of the optimizer (the
/// update, and the copies into what is gathered), once `to` ranks hold what `from` held: kernels on
/// from / to as many elements. `floor_us`: of a kernel's time, that does not follow its elements.
/// `launch_call_us`: as of StepEdit.
Step with_shards(Step step, int from, int to, double floor_us, double launch_call_us,
                 std::int64_t& kernels);

}  // namespace tandem
