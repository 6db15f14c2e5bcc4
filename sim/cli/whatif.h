// The what-ifs that rewrite a trace before it is simulated.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/whatif/batch.h"
#include "models/whatif/peak_memory.h"
#include "sim/cli/replay.h"

namespace tandem {

/// The analysed trace as it would have been measured in the scenario: same rows, other durations,
/// geometries and shapes.
struct RewrittenTrace {
  Trace trace;
  std::vector<WorkCounters> counters;  // per activity
  LossList losses;
  BatchReport batch;
};

/// The batch of `options`, from one analysed trace. Errors: InputError where the trace does not
/// tell its batch or its GPU, or the batch is impossible.
RewrittenTrace rewrite(const Analysis& analysis, const ReplayOptions& options);

/// From two traces of one model. `from_second` of the report tells whose rows the result has.
RewrittenTrace rewrite(const Analysis& first, const Analysis& second, const ReplayOptions& options);

/// Peak memory and what fits, from the `peak_alloc` of the captures' meta files where there are
/// any. `second`: the other trace of a prediction from two, or null.
void add_memory(const Analysis& analysis, const Analysis* second, const ReplayOptions& options,
                Result& result);

}  // namespace tandem
