// What the GPU of a trace allows a counter report of the same run to say.
#pragma once

#include <cstdint>

#include "sim/counters/counter_report.h"

namespace tandem {

/// Of the GPU that the report should be of; 0: not known.
struct CountedGpu {
  int sm_count = 0;
  int capability = 0;    // ten times the major version of the compute capability, and the minor one
  double dram_gbps = 0;  // peak
  double l2_gbps = 0;    // of all that L2 serves, as measured
  double slowest_clock_ghz = 0;  // that the driver holds
};

/// Rows that name another number of SMs or another compute capability than `gpu`.
std::int64_t rows_of_another_gpu(const CounterReport& report, const CountedGpu& gpu);

/// Counts these as a warning, "counters_of_another_gpu", in the report's losses, and forgets
/// traffic of DRAM and L2 that `gpu` cannot move in the time of the kernel, "impossible_counters".
void hold_against(const CountedGpu& gpu, CounterReport& report);

}  // namespace tandem
