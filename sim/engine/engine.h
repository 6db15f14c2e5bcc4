// The discrete-event engine: Plan -> Timeline.
#pragma once

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"

namespace tandem {

/// Runs the plan. Deterministic: events are ordered by (time, sequence). Host threads run their
/// items in order and block on hand-offs, full launch queues and waits; streams run their work in
/// the order of the plan; copies of one direction share a copy engine.
/// A plan whose hand-offs and waits point backwards always finishes, however small its queues and
/// whichever thread runs ahead. check_plan() comes first. Errors: InputError for a plan that cannot
/// finish or would last too long.
Timeline simulate(const Plan& plan);

}  // namespace tandem
