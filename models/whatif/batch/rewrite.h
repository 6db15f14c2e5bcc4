// The operands of a trace at another batch.
#pragma once

#include "models/step/batch/roles.h"

namespace tandem {

/// The tensors of `op` with `batch` in place of `base_batch` where they grow, and the strides that
/// step over a whole growing dimension with them.
OpTensors resize_layout(const BatchOp& op, std::int64_t base_batch, std::int64_t batch);

}  // namespace tandem
