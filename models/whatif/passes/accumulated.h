// A step of another number of forward and backward passes to one update.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/runtime/host_model.h"
#include "models/step/step.h"

namespace tandem {

struct PassesOptions {
  std::int64_t passes = 1;
  const GpuArch& gpu;
  const TimeConstants& time;
  const LibraryNames& names;
  const HostModel& host;
};

struct PassesReport {
  std::int64_t from = 1;
  std::int64_t added = 0;  // gradients that are added to those of a pass before
  double added_us = 0;     // of the kernels that do
};

/// The last traced pass runs once more for each one that is added, behind it, and adds its
/// gradients to those that are there; of fewer passes the first ones stay. Errors: InputError for
/// a step that is no eager training with one update.
Step with_passes(Step step, const PassesOptions& options, PassesReport& report);

}  // namespace tandem
