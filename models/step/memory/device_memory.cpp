#include "models/step/memory/device_memory.h"

#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<DeviceMemory>> device_memory_fields() {
  using M = DeviceMemory;
  return {
      field<M>("memory_workspace_bytes", "B", "workspace of a handle of the library of products",
               &M::workspace_bytes),
      field<M>("memory_workspace_major", "count", "first compute capability with so much",
               &M::workspace_major),
      field<M>("memory_workspace_before_bytes", "B", "the same, with an earlier one",
               &M::workspace_before_bytes),
      field<M>("memory_context_bytes", "B", "context and code of the process", &M::context_bytes),
      field<M>("memory_usable_share", "ratio", "memory that allocations may take",
               &M::usable_share),
  };
}

}  // namespace tandem
