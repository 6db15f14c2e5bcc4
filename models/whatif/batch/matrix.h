// The product behind a kernel at a batch.
#pragma once

#include <optional>

#include "models/kernel/time/laws/product_growth.h"
#include "models/whatif/batch/kernel.h"

namespace tandem {

/// Empty if the shapes of the operation do not tell.
std::optional<Product> product_of(const BatchKernel& kernel, const OpTensors& tensors);

}  // namespace tandem
