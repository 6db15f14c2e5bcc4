// Peak memory of a scenario: recorded in the trace, said by the user, or by liveness.
#pragma once

#include <optional>

#include "models/step/memory/peak_memory.h"
#include "sim/predict/result.h"
#include "sim/predict/scenario.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// Whether most of the device's work was launched by CUDA graphs, of which the trace does not tell
/// what they hold.
bool hides_tensors(const TracedRun& run);

/// Peak memory by batch: through what the user says or `[memory]` events record, else by the
/// liveness of the traced step's tensors; nothing without shapes, or where hides_tensors. `second`:
/// the other trace of a prediction from two, or null.
std::optional<PeakMemory> traced_peak(const TracedRun& run, const TracedRun* second);

/// Peak memory at `batch` and what fits `gpu`; nothing where the trace has no shapes.
std::optional<MemorySummary> scenario_memory(const TracedRun& run, const TracedRun* second,
                                             const GpuArch& gpu, std::int64_t batch,
                                             const Scenario& scenario);

}  // namespace tandem
