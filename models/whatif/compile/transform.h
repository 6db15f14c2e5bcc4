// The row of transforms() for compiled code.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

Transform compile_transform();
ReportedObject compile_report();

}  // namespace tandem
