#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The row of another number of ranks.
Transform ranks_transform();
ReportedObject ranks_report();

}  // namespace tandem
