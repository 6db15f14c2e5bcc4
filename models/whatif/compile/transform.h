// The row of transforms() for compiled code.
#pragma once

#include "models/whatif/transform.h"

namespace tandem {

Transform compile_transform();

}  // namespace tandem
