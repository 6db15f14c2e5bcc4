#pragma once

#include "models/whatif/transform.h"

namespace tandem {

/// The row of another number of ranks.
Transform ranks_transform();

}  // namespace tandem
