#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The row of activations that are computed again.
Transform checkpoint_transform();
ReportedObject checkpoint_report();

}  // namespace tandem
