// What a GPU's memory holds beside the tensors of a step.
#pragma once

#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Constants, documented in device_memory.cpp.
struct DeviceMemory {
  double workspace_bytes = 0;
  double workspace_major = 0;
  double workspace_before_bytes = 0;
  double context_bytes = 0;
  double usable_share = 0;

  /// Of the handles that a step holds (workspace.h).
  double workspaces(int compute_major, int handles) const {
    const bool later = compute_major >= workspace_major;
    return handles * (later ? workspace_bytes : workspace_before_bytes);
  }
  /// What allocations can use: less the context and the driver's reserve.
  double usable_bytes(const GpuArch& gpu) const {
    return usable_share * static_cast<double>(gpu.memory_bytes) - context_bytes;
  }
};

std::vector<Field<DeviceMemory>> device_memory_fields();

}  // namespace tandem
