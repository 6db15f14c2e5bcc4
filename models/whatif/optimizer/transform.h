#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The row of another way to update parameters.
Transform optimizer_transform();
ReportedObject optimizer_report();

}  // namespace tandem
