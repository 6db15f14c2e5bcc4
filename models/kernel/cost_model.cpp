#include "models/kernel/cost_model.h"

#include <algorithm>

#include "models/kernel/cost_parts.h"

namespace tandem {
namespace {

constexpr double sector = 32;

CostInput make_input(const GpuArch& gpu, const KernelLaunch& launch,
                     const CostConstants& constants) {
  CostInput in{gpu,    launch, constants, kernel_features(launch), occupancy(gpu, launch.geometry),
               nullptr};
  in.row = constants.row(launch.traits, launch.math);
  return in;
}

// What does not depend on how long the kernel runs.
KernelCost cost_of_work(const CostInput& in, CacheState cache) {
  KernelCost cost;
  const double count = instructions(in);
  cost.smsp_issue_cycles = count < 0 ? count : count * in.constants.general().issue_per_instruction;
  add_tensor_work(in, cost);
  add_traffic(in, cache, cost);
  const bool known = in.launch.work.exact && count >= 0;
  cost.confidence = known ? 1.0 : count >= 0 ? 0.5 : 0.0;
  return cost;
}

Bound bound_of(const GpuArch& gpu, const KernelCost& cost) {
  const double bytes = (cost.dram_read_sectors + cost.dram_write_sectors) * sector;
  const double memory = bytes / (gpu.dram_read_gbps * 1e3);
  const double smsp_us = smsp_count(gpu) * gpu.boost_clock_mhz;
  const double compute = std::max(cost.smsp_issue_cycles, cost.tc_active_cycles) / smsp_us;
  if (cost.time_us < gpu.stream_kernel_period_us) return Bound::launch;
  constexpr double bound_share = 0.5;
  if (std::max(memory, compute) < bound_share * cost.time_us) return Bound::latency;
  return memory >= compute ? Bound::memory : Bound::compute;
}

// Fills what scales with time: cycles, achieved occupancy, clamps.
void apply_time(const GpuArch& gpu, const GeneralCosts& general, double share, int resident_warps,
                bool matrix, KernelCost& cost) {
  const double cycles = cost.time_us * gpu.boost_clock_mhz;
  const double smsps = smsp_count(gpu);
  cost.smsp_elapsed_cycles = cycles * smsps;
  const double active = std::max(general.minimum_active_cycles, cycles - general.launch_cycles);
  cost.smsp_active_cycles = smsps * share * active;
  if (cost.smsp_issue_cycles < 0) {
    cost.smsp_issue_cycles = general.unknown_issue * cost.smsp_active_cycles;
  }
  cost.smsp_issue_cycles = std::min(cost.smsp_issue_cycles, cost.smsp_active_cycles);
  cost.tc_active_cycles = std::min(cost.tc_active_cycles, cost.smsp_active_cycles);
  const double achieved = matrix ? general.occupancy_share_matrix : general.occupancy_share;
  cost.warp_active_cycles = cost.smsp_active_cycles / gpu.smsp_per_sm * resident_warps * achieved;
  clamp_traffic(gpu, cost);
  cost.bound = bound_of(gpu, cost);
}

// Warps on an SM that holds any.
int resident_warps(const CostInput& in) {
  const std::int64_t blocks = blocks_of(in.launch.geometry);
  const std::int64_t an_sm = (blocks + in.gpu.sm_count - 1) / in.gpu.sm_count;
  return static_cast<int>(std::min<std::int64_t>(an_sm, in.occupancy.blocks_per_sm)) *
         warps_per_block(in.launch.geometry);
}

// Copies occupy no SM; their bytes are not known to the launch.
KernelCost transfer_cost(const GpuArch& gpu, double time_us) {
  KernelCost cost;
  cost.time_us = time_us;
  cost.smsp_elapsed_cycles = time_us * gpu.boost_clock_mhz * smsp_count(gpu);
  cost.confidence = 1;
  return cost;
}

}  // namespace

KernelCost kernel_cost(const GpuArch& gpu, const KernelLaunch& launch, CacheState cache,
                       const CostConstants& constants, double time_us) {
  const double time = time_us > 0 ? time_us : launch.duration_us;
  if (launch.family == KernelFamily::transfer) return transfer_cost(gpu, time);
  const CostInput in = make_input(gpu, launch, constants);
  KernelCost cost = cost_of_work(in, cache);
  cost.time_us = time;
  apply_time(gpu, constants.general(), resident_share(in), resident_warps(in), is_matrix(in), cost);
  return cost;
}

KernelCost CostCache::cost(std::uint32_t shape, const KernelLaunch& launch) {
  if (launch.family == KernelFamily::transfer) return transfer_cost(gpu_, launch.duration_us);
  if (shape >= entries_.size()) entries_.resize(shape + 1);
  Entry& entry = entries_[shape];
  if (entry.share < 0) {
    const CostInput in = make_input(gpu_, launch, constants_);
    entry = {cost_of_work(in, cache_), resident_share(in), resident_warps(in), is_matrix(in)};
  }
  KernelCost cost = entry.work;
  cost.time_us = launch.duration_us;
  apply_time(gpu_, constants_.general(), entry.share, entry.warps, entry.matrix, cost);
  return cost;
}

}  // namespace tandem
