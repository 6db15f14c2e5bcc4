// The row of transforms() for another GPU, or other numbers of it.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

Transform gpu_transform();
ReportedObject gpu_report();

}  // namespace tandem
