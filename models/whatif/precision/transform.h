// The row of transforms() for another arithmetic.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

Transform precision_transform();
ReportedObject precision_report();

}  // namespace tandem
