// The matrix product of thesis figure 5.11, predicted without a trace: FP32 on the CUDA cores,
// blocks of 32 x 32 threads that stage square tiles in shared memory, one result a thread.
#pragma once

#include "models/arch/gpu_arch.h"
#include "models/energy/energy_model.h"

namespace tandem {

/// What one launch for square matrices counts, and its time at the boost clock.
struct TiledMatmul {
  double shared_wavefronts = 0;  // 128 bytes each
  double l1_sectors = 0;         // requested
  double l2_sectors = 0;         // requested
  double dram_sectors = 0;
  double flop = 0;
  double other_instructions = 0;  // of warps, beyond the multiplications
  double busy_sm_cycles = 0;      // of the SM with the most blocks
  double time_us = 0;
};
TiledMatmul tiled_matmul(const GpuArch& gpu, double size);

/// The board at a locked clock.
struct LockedClock {
  double share = 1;     // of the boost clock
  double static_w = 0;  // at that clock
  ClockEnergy energy;   // of WorkRules
};

/// Energy of one launch, split as in figure 5.11.
struct MatmulEnergy {
  double time_us = 0;
  double total_j = 0;
  double static_j = 0;
  DataMovement movement;
};
MatmulEnergy matmul_energy(const GpuArch& gpu, const TraceEnergyModel& model,
                           const AccessEnergies& access, double size, const LockedClock& clock);

}  // namespace tandem
