// Kernels bound by memory whose operands L2 may hold: how their time grows with their bytes.
//
// Fitted on what happens to kernels of a trace as their operands grow, over launch floors that the
// what-if subtracts. stream_us of parts.h answers another question: the time of a kernel whose
// traced duration is not known, with the constants of its micro-benchmarks.
#pragma once

#include <vector>

#include "models/kernel/time/l2_kept.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

struct CachedMemory {
  double dram_share = 0;  // sustained rate over the DRAM's peak
  double l2_gain = 0;     // rate from L2 over that from DRAM
  L2Keeps l2;
  double lone_dram = 0;  // time from DRAM over that from L2, at most one block an SM
};
std::vector<Field<CachedMemory>> cached_memory_fields();

/// Time of `bytes` at the DRAM rate, faster by the gain while they stay in L2.
double cached_memory_us(const GpuArch& gpu, const CachedMemory& memory, double bytes);

/// Of too few blocks to hide latency: misses cost their full latency. Only ratios mean anything.
double lone_blocks_time(const GpuArch& gpu, const CachedMemory& memory, double bytes);

}  // namespace tandem
