// What NAME.meta.json beside a capture says about its energy.
#pragma once

#include <optional>
#include <string>

namespace tandem {

struct MeasuredEnergy {
  double window_us = 0;  // an iteration in the power window, which is not iter_s: hosts drift
  double power_w = 0;    // NVML power
  double counter_j = 0;  // NVML energy counter, per iteration
  double energy_j() const { return power_w * window_us * 1e-6; }  // the quieter meter
};
/// Nothing if no energy was measured. Errors: InputError for an unreadable file.
std::optional<MeasuredEnergy> measured_energy(const std::string& meta_path);

}  // namespace tandem
