// A step whose parameters are updated the other way: by list operations, or by fused ones.
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/library_names.h"
#include "models/runtime/host_model.h"
#include "models/step/op_nesting.h"
#include "models/step/step.h"
#include "models/whatif/optimizer/law.h"
#include "models/whatif/optimizer/update.h"

namespace tandem {

struct UpdateContext {
  const GpuArch& gpu;
  const OptimizerLaw& law;
  const LibraryNames& names;
  const HostModel& host;
};

struct UpdateReport {
  std::int64_t traced_kernels = 0, kernels = 0;
  double traced_us = 0, us = 0;  // of their time
  std::int64_t tensors = 0;
  double elements = 0;
  std::int64_t guessed = 0;  // updates the order of whose tensors is not known
  std::int64_t skipped = 0;  // updates that did nothing when they were traced
  std::int64_t waits = 0;    // of the host for the gradient scaler that vanish
  double results_bytes = 0;  // of lists that one way allocates and the other does not
};

/// `updates`: those of `step` that are not done that way yet.
Step with_updates(Step step, const OpNesting& nesting, const std::vector<Update>& updates,
                  UpdateWay to, const UpdateContext& context, UpdateReport& report);

}  // namespace tandem
