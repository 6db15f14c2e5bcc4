// The kernel model applied to every activity of a trace.
#pragma once

#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/error.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Counters per activity, with the traced durations. `cache`: "warm" or "cold".
/// What the model cannot tell apart is counted in `losses`.
std::vector<WorkCounters> kernel_counters(const Trace& trace, const Links& links,
                                          const GpuArch& gpu, const std::string& configs,
                                          const std::string& cache, LossList& losses);

/// What turns counters into shares of time on this GPU.
GpuScale gpu_scale(const GpuArch& gpu);

}  // namespace tandem
