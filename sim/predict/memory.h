// Peak memory of a scenario, from measured peaks of captures and the shapes of their tensors.
#pragma once

#include <optional>

#include "models/whatif/batch/peak_memory.h"
#include "models/whatif/transform.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// Peak memory from the `peak_alloc` of the captures' meta files; nothing where there is none.
/// `second`: the other trace of a prediction from two, or null.
std::optional<PeakMemory> measured_peak(const TracedRun& run, const TracedRun* second);

/// Activations of an item of the batch, from the shapes and types of the forward operations alone.
double shape_item_bytes(const TracedRun& run, const Step& step);

/// Peak memory at `batch` and what fits `gpu`; nothing where no capture states a peak.
std::optional<MemorySummary> scenario_memory(const TracedRun& run, const TracedRun* second,
                                             const GpuArch& gpu, std::int64_t batch,
                                             const MemoryChange& change);

}  // namespace tandem
