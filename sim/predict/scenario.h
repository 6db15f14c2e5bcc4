// The what-ifs that rewrite a step before it is simulated.
#pragma once

#include <optional>
#include <vector>

#include "models/step/step.h"
#include "models/whatif/batch/batch.h"
#include "models/whatif/compile/compile.h"
#include "models/whatif/gpu/retarget.h"
#include "models/whatif/precision/precision.h"
#include "sim/predict/predict.h"

namespace tandem {

/// The traced step as it would have been measured in the scenario.
struct Scenario {
  Step step;
  std::optional<GpuArch> gpu;
  std::optional<PrecisionReport> precision;
  std::optional<BatchReport> batch;
  std::optional<JitReport> jit;
  std::optional<RetargetReport> retarget;
  double item_memory_ratio = 1;  // activations in the new precision over those in the traced one
  LossList losses;
  bool rewritten = false;  // false: the traced step itself
};

/// Precision, batch, fusion and GPU of `options`, in this order. `second`: another trace of the
/// model that calibrates the batch law, or null; the report of the batch says whose rows the step
/// has. Errors: InputError where the trace does not tell what a what-if needs, or asks for what
/// cannot be.
Scenario make_scenario(const Analysis& analysis, const Analysis* second,
                       const ReplayOptions& options);

/// Peak memory from the `peak_alloc` of the captures' meta files; nothing where there is none.
std::optional<PeakMemory> measured_peak(const Analysis& analysis, const Analysis* second);

/// Activations of an item of the batch, from the shapes and types of the forward operations alone.
double shape_item_bytes(const Analysis& analysis, const Step& step);

/// Peak memory and what fits, from the `peak_alloc` of the captures' meta files where there are
/// any. `second`: the other trace of a prediction from two, or null.
void add_memory(const Analysis& analysis, const Analysis* second, const GpuArch& target,
                const ReplayOptions& options, Result& result);

}  // namespace tandem
