// The other-GPU what-if: a step as it would have been measured on another GPU, or on the same one
// with other numbers.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/collective/collective_law.h"
#include "models/kernel/library_names.h"
#include "models/kernel/residual.h"
#include "models/kernel/time/time_constants.h"
#include "models/step/step.h"
#include "models/whatif/gpu/retarget_law.h"
#include "sim/core/error.h"

namespace tandem {

struct RetargetOptions {
  const GpuArch* from = nullptr;  // what the step was measured on
  const GpuArch* to = nullptr;
  const TimeConstants* time = nullptr;
  double floor_share = 1;  // of a measured time: its launch floor is at most this
  const LibraryNames* names = nullptr;
  const RetargetErrors* errors = nullptr;
  double launch_call_us = 0;                   // of the host, for kernels that are added
  const CollectiveLaw* collectives = nullptr;  // null: they stay
};

/// Shares are of the predicted GPU time.
struct RetargetReport {
  double changed_share = 0;  // kernels that another algorithm or type of arithmetic replaces
  double unmodelled_share =
      0;                      // kernels of unknown kind, or that keep their time for want of a law
  double expected_error = 0;  // relative, of the GPU time
  std::int64_t added = 0;     // kernels
  std::int64_t dropped = 0;
};

/// Every kernel is re-timed from its measured time: what its bytes explain of it follows the
/// memory, the rest follows the SMs, each by the model's ratio (residual.h, kernel_time.h). Where
/// the algorithm or the type of arithmetic of a product changes, the model alone counts.
///
/// FP32 convolutions use TF32 where the GPU has it, as PyTorch does unless told otherwise, and then
/// need layout transforms. Host times and gaps between kernels stay as traced.
/// With `*to` equal to `*from` the step is unchanged.
/// Errors: InputError if the step computes in a type that the GPU does not have.
Step with_gpu(Step step, const RetargetOptions& options, LossList& losses,
              RetargetReport* report = nullptr);

}  // namespace tandem
