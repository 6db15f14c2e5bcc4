// What device work asks of the board: SM time, DRAM bytes and FLOP of every launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/energy/energy_model.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/kernel.h"

namespace tandem {

/// Kernels that use the board alike where shapes are missing. `bits` of the arithmetic: 16 or 32.
struct RateClass {
  KernelFamily family = KernelFamily::generic;
  bool tensor = false;
  bool helper = false;  // prepares or sums up a matrix product; multiplies nothing
  int bits = 32;
  friend bool operator==(const RateClass&, const RateClass&) = default;
};
RateClass rate_class(const KernelLaunch& launch);

/// How hard long kernels of a class drive memory and arithmetic, as shares of the GPU's read
/// bandwidth and of the peak of the unit they use.
struct TypicalRate {
  RateClass of;
  double dram_share = 0;
  double flop_share = 0;
};

/// How launches become EnergyWork; the same for every GPU.
struct WorkRules {
  double launch_ramp_us = 0;  // at the start of a kernel, before its blocks draw power
  double awake_cycles = 0;    // an SM draws power for so long behind an instruction
  double half_rate_us = 0;    // a kernel this long runs at half its class's rates
  /// Convolutions outside the tensor cores execute many more instructions than useful FLOP: they
  /// count as at least this share of the FP32 peak.
  double simt_convolution_share = 0;
  double cached_share = 0;  // of L2: operands of this size come from L2 half of the time
  ClockEnergy clock;
  double other_dram_share = 0;  // classes without a rate of their own
  double other_flop_share = 0;
  std::vector<TypicalRate> rates;
};

/// Share of the SMs that hold a block of the launch; 0 for copies and memsets.
double sm_share(const KernelLaunch& launch, const GpuArch& gpu);

/// When a work ran, and on which share of the SMs.
struct WorkSpan {
  double begin_us = 0;
  double duration_us = 0;
  double sm_share = 0;
};
/// Durations as if works that run at the same time took turns: time during which the spans hold
/// s > 1 times all SMs counts 1 / s.
std::vector<double> time_shared(std::span<const WorkSpan> spans);

/// `cost`: of the launch with cold caches, for instructions and for the traffic of kernels of many
/// tensors, whose grids state it. `shared_us`: of time_shared. `bytes`: of a copy or memset.
EnergyWork energy_work(const KernelLaunch& launch, const KernelCost& cost, const GpuArch& gpu,
                       const WorkRules& rules, double shared_us, double bytes = 0);

/// DRAM traffic of operands of `bytes` that are used once within `us`.
double dram_bytes(double bytes, const GpuArch& gpu, const WorkRules& rules, double us);

/// DRAM bytes and FLOP that the shapes of a launch state, capped by what the GPU can do in the
/// time. What the rates are fitted on.
struct StatedWork {
  double dram_bytes = 0;
  double flop = 0;  // of the unit the kernel uses, not weighted by width
};
StatedWork stated_work(const KernelLaunch& launch, const GpuArch& gpu, const WorkRules& rules,
                       double shared_us);
/// What a rate of 1 would do in that time: bytes and FLOP.
StatedWork peak_work(const KernelLaunch& launch, const GpuArch& gpu, const WorkRules& rules,
                     double shared_us);

}  // namespace tandem
