// A host that several ranks share.
#pragma once

#include "sim/engine/plan.h"

namespace tandem {

/// Host times of one of `to` processes, from those of one of `from`: as the ratio to the power
/// `exponent` (CollectiveLaw::ranks_exponent). Waits for input, which other processes prepare, and
/// for another thread's waking stay.
void share_host(int from, int to, double exponent, Plan& plan);

}  // namespace tandem
