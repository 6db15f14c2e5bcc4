// The row of transforms() for a locked clock of the SMs.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

Transform clock_transform();
ReportedObject clock_report();

}  // namespace tandem
