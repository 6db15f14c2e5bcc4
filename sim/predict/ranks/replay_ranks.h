// Traces of several ranks of one run to a prediction for each, simulated together.
#pragma once

#include <string>
#include <vector>

#include "sim/predict/predict.h"
#include "sim/predict/ranks/meeting.h"

namespace tandem {

struct RanksReplay {
  std::vector<Replay> replays;  // by rank; collectives last as long as the others make them
  std::vector<RankRun> runs;    // parallel: one step of each, on one clock
};

/// At least two traces. The losses of each result are those of all ranks. Errors: InputError for
/// traces that are not those of different ranks of one run.
RanksReplay replay_ranks(std::vector<Trace> traces, const ReplayOptions& options);

}  // namespace tandem
