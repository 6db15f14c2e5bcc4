#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The row of another input pipeline.
Transform input_transform();
ReportedObject input_report();

}  // namespace tandem
