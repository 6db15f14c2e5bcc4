// The row of transforms() for another batch size.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

Transform batch_transform();
ReportedObject batch_report();

}  // namespace tandem
