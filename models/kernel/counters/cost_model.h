// What a run of a kernel costs on a GPU: cycles, instructions, tensor-core work and traffic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/counters/block_schedule.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/kernel.h"

namespace tandem {

/// Counters of one launch, cold caches; for warm ones apply_warm_l2() to the costs of a step
/// (models/memory). Confidence: 1 counts from shapes; 0.5 counts from the launch geometry, or of a
/// kind whose kernels differ much; 0.25, at least in part, what its kind usually does for so long;
/// 0.1 the same of other kinds, for it was not measured; 0 a name that no rule knows. The time is
/// the launch's measured duration; without one, pass `time_us`. Pure; allocates nothing.
KernelCost kernel_cost(const GpuArch& gpu, const KernelLaunch& launch,
                       const CostConstants& constants, double time_us = 0);

/// Cuts a counter to the most that there can be; `clamped` is set where that is more than rounding.
inline void cut_counter(double most, double& counter, bool& clamped) {
  constexpr double rounding = 1e-9;
  clamped = clamped || counter > most * (1 + rounding);
  counter = std::min(counter, most);
}

/// The same of all that happens while an SMSP is active; `Counters`: KernelCost, or one like it.
template <class Counters>
void cut_to_active(Counters& c) {
  cut_counter(c.smsp_active_cycles, c.smsp_issue_cycles, c.clamped);
  cut_counter(c.smsp_active_cycles, c.tc_active_cycles, c.clamped);
  cut_counter(c.smsp_issue_cycles, c.tc_issue_cycles, c.clamped);
}

/// The most bytes that a kernel of `us` microseconds can move.
struct TrafficLimits {
  double dram = 0;  // read and written
  double l2 = 0;    // where a sector that crosses from one partition to the other counts twice
  double l1 = 0;
  double shared = 0;
};
TrafficLimits traffic_limits(const GpuArch& gpu, double us);

/// How the blocks of a launch start, live and end, as its counters assume; see schedule_blocks().
BlockPace block_pace(const GpuArch& gpu, const KernelLaunch& launch,
                     const CostConstants& constants);

/// What a kernel of unknown size does while it is active; see CostRow.
struct ActiveRates {
  double issue = 0, tensor = 0, l1 = 0, l2 = 0, shared = 0, dram_reads = 0, dram_writes = 0;
};

/// The part of a launch's cost that does not depend on how long it runs.
struct TimelessCost {
  KernelCost work;
  double share = -1;     // of SMSP cycles with a warp resident while it runs; negative: empty
  int warps = 0;         // on an SM that holds any
  double all_warps = 0;  // of the grid
  bool matrix = false;
  double most_issue = 1;         // of its issue slots, however short its time
  bool issue_by_rate = false;    // its instructions are not counted
  bool traffic_by_rate = false;  // nor its tensor work and traffic
  ActiveRates rates;
  double cycles_per_tensor = 0;   // of a tensor instruction
  bool lasting = false;           // uses more of the tensor cores the longer it lasts
  double multiplying_cycles = 0;  // of tensor cores, products alone
};

/// kernel_cost with everything that does not depend on time computed once for equal launches; see
/// TraceLaunches::shape_of.
class CostCache {
 public:
  CostCache(const GpuArch& gpu, const CostConstants& constants)
      : gpu_(gpu), constants_(constants) {}
  /// Cost of a launch whose description has number `shape`.
  KernelCost cost(std::uint32_t shape, const KernelLaunch& launch);

 private:
  const GpuArch& gpu_;
  const CostConstants& constants_;
  std::vector<TimelessCost> entries_;
};

}  // namespace tandem
