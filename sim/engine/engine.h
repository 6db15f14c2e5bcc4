// The discrete-event engine: Plan -> Timeline.
#pragma once

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"

namespace tandem {

/// Runs the plan. Deterministic: events are ordered by (time, sequence). Host threads run their
/// items in order and block on hand-offs, full launch queues and waits; streams run their work in
/// the order of the plan; copies of one direction share a copy engine.
/// Throws std::logic_error if the plan cannot finish (a hand-off or edge that points forward).
Timeline simulate(const Plan& plan);

}  // namespace tandem
