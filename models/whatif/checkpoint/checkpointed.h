// A step whose repeated layers keep their inputs alone.
#pragma once

#include <cstdint>

#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "models/whatif/edit/repeat_law.h"

namespace tandem {

struct CheckpointOptions {
  const RepeatLaw& law;
  const HostModel& host;
};

struct CheckpointReport {
  std::int64_t layers = 0;   // of all passes
  std::int64_t kernels = 0;  // that run again
  double us = 0;             // of the GPU in these
  std::int64_t unlike = 0;   // weights of blocks between layers
};

/// Every repeated layer runs again just before its gradients, on their thread. Errors: InputError
/// for a step that is no eager training, without such layers, or that computes some again already.
Step with_checkpoints(Step step, const CheckpointOptions& options, CheckpointReport& report);

}  // namespace tandem
