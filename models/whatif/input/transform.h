#pragma once

#include "models/whatif/transform.h"

namespace tandem {

/// The row of another input pipeline.
Transform input_transform();

}  // namespace tandem
