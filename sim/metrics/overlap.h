// Activity of SMs that kernels of several streams share.
#pragma once

#include <span>

#include "sim/engine/timeline.h"
#include "sim/metrics/gpu_metrics.h"

namespace tandem {

/// Two kernels that are active on the same SMSP at the same time keep it active once. Caps the SMSP
/// activity of a step, a sum over kernels, at the whole device at each moment of `run`; `works` are
/// those of `run`, `span_us` is the time of the step. SMACT follows. Issue and tensor cycles are
/// cut to what that leaves: true if kernels together counted more than the GPU can do.
bool cap_overlap(std::span<const WorkCounters> works, const Timeline& run, const GpuScale& gpu,
                 double span_us, GpuMetrics& step);

/// Integral over time of what the running work uses, at most 1 at a time; us. `busy_us`: per work,
/// its own integral, spread evenly over the work.
double capped_busy_us(const Timeline& run, std::span<const double> busy_us);

}  // namespace tandem
