// The batch-size what-if: a trace as it would have been measured at another batch size.
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/step/step_kernels.h"
#include "models/whatif/batch/kernel.h"
#include "models/whatif/batch/law.h"
#include "models/whatif/edit/switches.h"
#include "sim/core/error.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

struct BatchOptions {
  std::int64_t batch = 0;         // the new batch
  const GpuArch* gpu = nullptr;   // the GPU the trace was measured on
  const BatchLaw* law = nullptr;  // configs/kernels/batch.json
};

/// How far a prediction can be trusted. Shares are of the predicted GPU time.
struct BatchConfidence {
  double factor = 1;         // new batch / nearest traced batch
  bool extrapolated = true;  // outside the traced batches
  double affine_share = 0;   // kernels without a model: floor plus proportional part
  double floor_share = 0;    // kernels that ran near the launch floor in the trace
  double switch_share = 0;   // kernels for which the library would likely choose another algorithm
  double recurrent_share = 0;  // recurrent layers
  double disagreement = 0;     // two bases: relative difference of the law and the straight line
  double expected_error = 0;   // relative, of the GPU time; by BatchErrors
};

struct BatchReport {
  std::vector<ScaleClass> classes;  // per activity
  BatchConfidence confidence;
  AlgorithmSwitches products;  // matrix products for which another tile is now the best
  bool from_second = false;  // two bases: the result has the rows, and so the Links, of the second
};

/// A run that was measured at a known batch.
struct BatchBase {
  const Trace& trace;
  const Links& links;
  const StepKernels& kernels;  // parallel to the activities of the trace
  std::int64_t batch = 0;
};

/// The run at another batch: activity durations, geometries and bytes, operand shapes; its rows,
/// and so its Links and StepKernels, stay. Times of the host and begins of activities stay: the
/// engine moves them. Errors: InputError for a batch that cannot be, for a trace without a
/// dimension that is a multiple of the batch, and for grids that CUDA cannot launch.
Trace with_batch(const BatchBase& base, const BatchOptions& options, LossList& losses,
                 BatchReport* report = nullptr);

/// From two runs of one model. The result is the nearer one, transformed.
/// Errors: as above, and InputError if the runs do not launch the same operations or if their
/// batches are equal.
Trace with_batch(const BatchBase& first, const BatchBase& second, const BatchOptions& options,
                 LossList& losses, BatchReport* report = nullptr);

}  // namespace tandem
