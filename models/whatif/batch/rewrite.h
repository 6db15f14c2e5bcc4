// The shape texts of a trace at another batch.
#pragma once

#include <string>
#include <string_view>

#include "models/whatif/batch/roles.h"

namespace tandem {

/// `dims` and `strides` of `op` with `batch` in place of `base_batch` where an operand grows.
std::string resize_dims(std::string_view dims, const BatchOp& op, std::int64_t base_batch,
                        std::int64_t batch);
std::string resize_strides(std::string_view strides, const BatchOp& op, std::int64_t base_batch,
                           std::int64_t batch);

}  // namespace tandem
