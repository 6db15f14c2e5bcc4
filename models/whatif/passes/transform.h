#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The row of another number of passes to one update.
Transform passes_transform();
ReportedObject passes_report();

}  // namespace tandem
