// Energy of a step, in two forms that are never mixed:
//   trace_energy               what the whole board draws, from what a trace tells (few constants)
//   data_movement_lower_bound  what moving the data costs at least, from counters (ASAP'24)
// Pure functions on plain numbers. Units stand in the names; 1 pJ = 1e-12 J.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/core/fields/provenance.h"

namespace tandem {

/// What one piece of device work asks of the board; see energy_work.h.
struct EnergyWork {
  double begin_us = 0;
  double duration_us = 0;   // wall time
  double sm_active_us = 0;  // time x SMs that hold its blocks; overlap time-shared
  double dram_bytes = 0;    // expected DRAM traffic
  double tensor_flop = 0;   // in FLOP of 16-bit operands: an operand twice as wide counts twice
  double fp32_flop = 0;     // outside the tensor cores; fp64 counts twice, fp16 half
  double instructions = 0;  // of warps, other than multiplications that are FLOP above
  bool estimated = false;   // bytes and FLOP are typical of the family, not read off shapes
};

/// What the clock does to the energy of what the SMs do, through the voltage.
struct ClockEnergy {
  double exponent = 0;     // it goes with this power of the clock
  double floor_share = 0;  // of the boost clock: below it the voltage stays, and so does the energy
  /// Energy over that at full clock, at `share` of it.
  double factor(double share) const;
  /// The same law where the full clock is `share` of this one's.
  ClockEnergy of_clock(double share) const { return {exponent, floor_share / share}; }
};

/// Constants of trace_energy, fitted on whole steps of ML workloads: `sm_active_w` holds clocks,
/// schedulers and L1 traffic, `dram_pj_per_byte` the way through L2.
struct TraceEnergyModel {
  double static_w = 0;            // board, context alive, nothing running
  double sm_active_w = 0;         // of one SM that holds blocks, before all of the following
  double dram_pj_per_byte = 0;    //
  double tensor_pj_per_flop = 0;  // 16-bit operands
  double fp32_pj_per_flop = 0;
  double instruction_pj = 0;        // of a warp
  double power_limit_w = 0;         // of the GPU: it slows down rather than draw more; 0: none
  double model_error = 0;           // relative standard deviation of a prediction from shapes
  double estimate_error = 0;        // the same where everything is estimated
  std::vector<Provenance> origins;  // parallel to trace_energy_fields(); `uncertainty` is used
  /// Correlation of the errors of the first six; row and column order as above.
  static constexpr std::size_t fitted = 6;
  std::array<std::array<double, fitted>, fitted> correlation{};
};

/// Where the energy went. The parts sum to the total.
struct EnergyBreakdown {
  double static_j = 0;
  double dram_j = 0;  // with the way through L2 as long as l2_j is 0
  double l2_j = 0;
  double l1_j = 0;
  double shared_j = 0;
  double compute_j = 0;  // FP32 pipes
  double tensor_j = 0;
  double instructions_j = 0;  // other instructions: addresses, loads and stores, conversions
  double other_j = 0;         // SMs being active: clocks, schedulers
  EnergyBreakdown& operator+=(const EnergyBreakdown& other);
};
double total_j(const EnergyBreakdown& parts);

struct StepEnergy {
  EnergyBreakdown parts;
  double energy_j = 0;
  double average_power_w = 0;
  double error_j = 0;          // standard deviation: constants and model
  double estimated_share = 0;  // of the dynamic energy, from works that are `estimated`
  double cut_share = 0;  // of the dynamic energy, which exceeds the power limit and is left out
};

/// Dynamic energy of one piece of work.
EnergyBreakdown work_energy(const TraceEnergyModel& model, const EnergyWork& work);
/// Energy of a step that takes `step_us`, idle time included, in a loop of such steps: an average
/// above the power limit is brought down to it. A step of length 0 draws no power.
StepEnergy trace_energy(const TraceEnergyModel& model, std::span<const EnergyWork> works,
                        double step_us);

/// Accesses that a memory level served, in sectors of 32 bytes. A miss counts at the level that
/// holds the data.
struct MemoryAccesses {
  double shared = 0, l1 = 0, l2 = 0, dram = 0;
  MemoryAccesses& operator+=(const MemoryAccesses& other);
};
/// From counters: sectors requested of L1 and of L2 (by the SMs), DRAM sectors, wavefronts of
/// shared memory (four sectors each).
MemoryAccesses accesses_served(double l1_sectors, double l2_sectors, double dram_sectors,
                               double shared_wavefronts);

/// Least energy of one access per level (thesis section 5.6.3) and the idle power it stands on.
struct AccessEnergies {
  double shared_pj_per_sector = 0;
  double l1_pj_per_sector = 0;
  double l2_pj_per_sector = 0;
  double dram_pj_per_sector = 0;
  double static_w = 0;
  std::vector<Provenance> origins;  // parallel to access_energy_fields()
};

/// Equation 5.3 with 5.4 for each level. The offsets of 5.4 belong to a calibration run and are
/// left out, as in the thesis' evaluation.
struct DataMovement {
  double shared_j = 0, l1_j = 0, l2_j = 0, dram_j = 0;
  double total_j = 0;
  double error_j = 0;  // standard deviation, levels taken as independent
};
DataMovement data_movement_lower_bound(const AccessEnergies& energies,
                                       const MemoryAccesses& accesses);

/// Divides what trace_energy cannot tell apart, leaving the total as it is: the way through L2 out
/// of dram_j in proportion to the bounds; then what L2 and DRAM lack of their bounds, and L1 and
/// shared memory, out of what the SMs do: other_j, then tensor_j, compute_j and instructions_j in
/// proportion, at most all of them.
void split_levels(EnergyBreakdown& parts, const DataMovement& movement);

/// Power from `time_us` on until the next point.
struct PowerPoint {
  double time_us = 0;
  double power_w = 0;
};
/// Power of the board over [0, step_us); overlapping work adds up, bursts may exceed the limit. Its
/// integral is the energy of trace_energy for the part of the works that lies in the step.
std::vector<PowerPoint> power_over_time(const TraceEnergyModel& model,
                                        std::span<const EnergyWork> works, double step_us);

}  // namespace tandem
