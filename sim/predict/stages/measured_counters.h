// Nsight Compute counters in place of the kernel model's, where a report holds them.
#pragma once

#include <string>

#include "sim/counters/counted_gpu.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// What `gpu` allows a counter report to say.
CountedGpu counted_gpu(const GpuArch& gpu);

/// Matches the report with every step of the trace and replaces the counters of matched kernels;
/// what could not be matched is counted in TracedRun::losses. Errors: InputError for an unreadable
/// report, for one that matches nothing, and for a trace of an unknown GPU.
void add_measured_counters(TracedRun& run, const std::string& path);

}  // namespace tandem
