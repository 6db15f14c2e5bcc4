// The one description of GpuArch: every reader, writer, template and text derives from it.
#pragma once

#include <span>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// The sourced values of a GPU config, in file order.
std::span<const Field<GpuArch>> gpu_fields();

}  // namespace tandem
