// The steps of several ranks, run together: their collectives are meetings.
#pragma once

#include <span>
#include <vector>

#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "sim/engine/timeline.h"
#include "sim/predict/result.h"

namespace tandem {

/// A rank's step in its mode, ready to be simulated. Its collectives last as long as data moves.
struct RankStep {
  const Trace& trace;  // that the plan refers to
  std::string path;    // of the measured trace, for messages
  int rank = 0;
  Plan plan;
};

/// One step of a rank in the steady state of all of them.
struct RankRun {
  Plan plan;          // of the step
  Timeline timeline;  // of its items and works, on one clock for all ranks
};

struct RanksTogether {
  std::vector<RankRun> runs;  // in the order of the ranks given
  RanksSummary summary;
};

/// Errors: InputError for ranks whose collectives are not those of one program.
RanksTogether simulate_ranks(std::span<const RankStep> ranks, const HostModel& host);

}  // namespace tandem
