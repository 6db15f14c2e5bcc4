#include "models/energy/power_limit.h"

#include <algorithm>
#include <cmath>

#include "sim/core/units.h"

namespace tandem {

namespace {

constexpr double least_clock = 0.1;
constexpr int halvings = 40;

double time_us(const PowerDemand& d, double clock) { return d.sm_us / clock + d.other_us; }

double power_w(const PowerDemand& d, double clock, const ClockEnergy& energy) {
  const double us = time_us(d, clock);
  if (!(us > 0)) return 0;
  const double sm_j = (d.sm_j + d.waiting_j * clock) * energy.factor(clock);
  return d.static_w + (sm_j + d.memory_j) / (us * micro);
}

}  // namespace

PowerDemand& PowerDemand::operator+=(const PowerDemand& other) {
  static_w = std::max(static_w, other.static_w);
  sm_us += other.sm_us;
  other_us += other.other_us;
  sm_j += other.sm_j;
  waiting_j += other.waiting_j;
  memory_j += other.memory_j;
  return *this;
}

double ClockEnergy::factor(double share) const {
  return std::pow(std::max(share, floor_share) / std::max(1.0, floor_share), exponent);
}

LimitedPower limit_power(const PowerDemand& demand, double limit_w, const ClockEnergy& energy) {
  double clock = 1;
  if (limit_w > 0 && power_w(demand, 1, energy) > limit_w) {
    double low = least_clock, high = 1;  // power grows with the clock
    for (int i = 0; i < halvings; ++i) {
      clock = (low + high) / 2;
      (power_w(demand, clock, energy) > limit_w ? high : low) = clock;
    }
    clock = low;
  }
  LimitedPower out;
  out.clock_share = clock;
  out.time_us = time_us(demand, clock);
  out.power_w = power_w(demand, clock, energy);
  if (out.time_us > 0) out.power_limited_share = 1 - time_us(demand, 1) / out.time_us;
  return out;
}

TraceEnergyModel at_clock(TraceEnergyModel model, double clock_share, const ClockEnergy& law) {
  const double energy = law.factor(clock_share);
  model.sm_active_w *= energy * clock_share;
  model.tensor_pj_per_flop *= energy;
  model.fp32_pj_per_flop *= energy;
  model.instruction_pj *= energy;
  return model;
}

AccessEnergies at_clock(AccessEnergies energies, double clock_share, const ClockEnergy& law) {
  const double energy = law.factor(clock_share);
  energies.shared_pj_per_sector *= energy;
  energies.l1_pj_per_sector *= energy;
  energies.l2_pj_per_sector *= energy;
  return energies;
}

PowerDemand power_demand(const TraceEnergyModel& model, const EnergyWork& work, bool sm_bound) {
  const EnergyBreakdown parts = work_energy(model, work);
  PowerDemand d;
  d.static_w = model.static_w;
  (sm_bound ? d.sm_us : d.other_us) = work.duration_us;
  d.memory_j = parts.dram_j;
  d.sm_j = total_j(parts) - parts.dram_j;
  return d;
}

}  // namespace tandem
