// The terms of kernel_cost(): what a launch executes, moves and holds. Internal to models/kernel.
#pragma once

#include "models/arch/gpu_arch.h"
#include "models/arch/occupancy.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/kernel.h"
#include "models/kernel/work/features.h"

namespace tandem {

/// A launch with all that the parts need of it.
struct CostInput {
  const GpuArch& gpu;
  const KernelLaunch& launch;
  const CostConstants& constants;
  KernelFeatures features;
  Occupancy occupancy;
  const CostRow* row = nullptr;  // null: the kind is not measured
};

CostInput make_input(const GpuArch& gpu, const KernelLaunch& launch,
                     const CostConstants& constants);
/// SMSP cycles with a warp resident, over all SMSP cycles while the kernel occupies the device.
double resident_share(const CostInput& in);
/// Warp instructions executed; negative: not known.
double instructions(const CostInput& in);
/// Whether the launch geometry alone tells how much an elementwise or optimizer kernel does.
bool geometry_tells(const CostInput& in);
/// Cycles that a tensor instruction of this kernel keeps the pipe active; 0: it has none.
double tensor_instruction_cycles(const CostInput& in);
/// Tensor-pipe instructions and active cycles (over all SMSPs).
void add_tensor_work(const CostInput& in, KernelCost& cost);
/// Sectors at L1, L2 and DRAM, shared wavefronts.
void add_traffic(const CostInput& in, KernelCost& cost);
/// Limits traffic to what the device moves in `cost.time_us`.
void clamp_traffic(const GpuArch& gpu, KernelCost& cost);

bool is_matrix(const CostInput& in);

}  // namespace tandem
