// What the kernels of one name use of the GPU in a step.
#pragma once

#include <span>
#include <string_view>

#include "sim/metrics/gpu_metrics.h"

namespace tandem {

/// Means are weighted with time. Ratios 0..1.
struct KernelLevels {
  KernelFamily family = KernelFamily::generic;
  double confidence = 0;
  double theoretical_occupancy = 0;  // both weighted with the cycles that SMs hold a block
  double achieved_occupancy = 0;
  double waves = 0;
  Bound bound = Bound::latency;           // of most of the time; see KernelUse
  std::string_view bound_law;             // of that bound; static
  Shortfall reason = Shortfall::latency;  // of most of the time above the roofline
  GpuMetrics metrics;  // over the kernels' own elapsed cycles; bytes: of all of them
};

/// `works` may not be empty.
KernelLevels kernel_levels(std::span<const WorkCounters> works, const GpuScale& gpu);

/// A number of KernelLevels as reports show it.
struct KernelLevelInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double (*value)(const KernelLevels&);
};
std::span<const KernelLevelInfo> kernel_level_infos();

}  // namespace tandem
