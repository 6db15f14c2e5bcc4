// The kernel model applied to every activity of a trace.
#pragma once

#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/time/time_constants.h"
#include "models/step/launches.h"
#include "sim/core/error.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Counters per activity, with the traced durations, and what bounds it where the model of its time
/// has a law.
/// What the model cannot tell apart is counted in `losses`.
std::vector<WorkCounters> kernel_counters(const Trace& trace, const TraceLaunches& launches,
                                          const GpuArch& gpu, const CostConstants& constants,
                                          const TimeConstants& time, CacheState cache,
                                          LossList& losses);

/// Kernels a block of which `gpu` cannot hold, by threads, registers or shared memory: they ran on
/// another GPU, or what the trace says of them is wrong.
std::vector<std::uint32_t> impossible_launches(const Trace& trace, const GpuArch& gpu);

/// Multiplies `scenario`, counters of the kernel model, by measured over model of the traced
/// kernel. Where the model counts nearly nothing (traffic of a kernel whose operands it takes to be
/// in L2) a ratio tells nothing of another kernel: what it lacks is added in proportion to the
/// traffic of L2. What then leaves the order issue <= active <= elapsed, or is more than the GPU
/// moves in the time, is cut and marked as clamped.
void apply_residual(const WorkCounters& measured, const WorkCounters& model, const GpuArch& gpu,
                    WorkCounters& scenario);

/// Per activity the share of the device's places for blocks that its grid fills, 0..1.
std::vector<double> places(const std::vector<WorkCounters>& counters);

/// What turns counters into shares of time on this GPU.
GpuScale gpu_scale(const GpuArch& gpu);

}  // namespace tandem
