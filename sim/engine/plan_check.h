// Whether a plan can be simulated, found before it is: ids, waits, and how long it may last.
#pragma once

#include "sim/engine/plan.h"

namespace tandem {

/// Proves that the simulation ends and that its times stay in range: ids name rows of the plan,
/// every wait has a source that some host item submits or that was there from the start, hand-offs
/// point backwards, meetings have their members, each duration stays below `limits::predicted_ps`
/// (what `rounded_ps` cuts does not) and all together below `limits::plan_ps`. Linear in the plan.
/// What only the order of events can show - ranks that meet in contradicting orders - simulate()
/// finds. Errors: InputError that names the row.
void check_plan(const Plan& plan);

}  // namespace tandem
