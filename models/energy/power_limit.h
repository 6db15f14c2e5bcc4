// Boards that would draw more than their limit lower the clock. For predicted durations only: what
// was measured holds the slowdown already.
#pragma once

#include <span>

#include "models/energy/energy_model.h"

namespace tandem {

/// A stretch of time, at full clock. Energy on the SMs grows with a power of the clock, energy of
/// the memory does not; time on the SMs goes with 1 / clock, the rest stays. So the energy of SMs
/// that only wait falls with the clock itself besides.
struct PowerDemand {
  double static_w = 0;
  double sm_us = 0;     // limited by the SMs
  double other_us = 0;  // limited by memory, launches or the host
  double sm_j = 0;
  double memory_j = 0;
  double waiting_j = 0;  // of SMs that are active in `other_us`
  PowerDemand& operator+=(const PowerDemand& other);
};

struct LimitedPower {
  double clock_share = 1;  // of the full clock
  double time_us = 0;
  double power_w = 0;              // average; above the limit only if memory alone exceeds it
  double power_limited_share = 0;  // of time_us, lost to the lower clock
};

/// The highest clock at which the average power is within `limit_w` (0: none), not below a tenth.
/// `energy`: of WorkRules.
LimitedPower limit_power(const PowerDemand& demand, double limit_w, const ClockEnergy& energy);

/// The constants while the SMs run at `clock_share` of the clock that `model` holds for: voltage
/// falls with the clock down to its floor, and with it the energy of all that the SMs do; power of
/// an active SM falls with the clock as well. The memory and the board at rest stay.
TraceEnergyModel at_clock(TraceEnergyModel model, double clock_share, const ClockEnergy& law);
/// The same for accesses: those that the SMs' clock drives, all but DRAM's.
AccessEnergies at_clock(AccessEnergies energies, double clock_share, const ClockEnergy& law);

/// Demand of one piece of work; `sm_bound`: its duration goes with the clock.
PowerDemand power_demand(const TraceEnergyModel& model, const EnergyWork& work, bool sm_bound);

}  // namespace tandem
