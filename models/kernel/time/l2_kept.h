// What L2 keeps of bytes that are touched again: the one law, its two constants are data.
//
// Lines are replaced about at random, so what is kept falls linearly with the footprint between the
// touches: all of it up to one share of L2, nothing from another.
#pragma once

#include <algorithm>

#include "models/arch/gpu_arch.h"

namespace tandem {

/// Footprints in units of L2. Kernels that repeat the very same bytes, on which the kernel-time
/// model was fitted, lose from the first on (0 and 1). In networks the first half stays (0.48
/// and 1.27 in batch.json). Each was tried for the other: 0 and 1 make batch predictions worse (2.8
/// to 3.7 % on models that nothing was fitted on), 0.48 and 1.27 those between GPUs (6.4 to 6.7 %)
/// and types.
struct L2Keeps {
  double full_share = 0;  // up to here all is kept
  double none_share = 1;  // from here nothing is
};

/// Share of a footprint that is no longer in L2.
inline double l2_missed(const GpuArch& gpu, double footprint_bytes, const L2Keeps& keeps = {}) {
  const double l2 = static_cast<double>(gpu.l2_bytes);
  const double full = keeps.full_share * l2, none = keeps.none_share * l2;
  return std::clamp((footprint_bytes - full) / (none - full), 0.0, 1.0);
}

/// And the share that is.
inline double l2_kept(const GpuArch& gpu, double footprint_bytes, const L2Keeps& keeps = {}) {
  return 1 - l2_missed(gpu, footprint_bytes, keeps);
}

}  // namespace tandem
