// The row of transforms() for another arithmetic.
#pragma once

#include "models/whatif/transform.h"

namespace tandem {

Transform precision_transform();

}  // namespace tandem
