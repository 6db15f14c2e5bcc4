// Power readings over time: reading them, power of a window, and the phases of a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// Readings at one time. The energy counter and the meters step at their own pace; a row stands
/// wherever one of them changed.
struct PowerSample {
  double time_s = 0;
  double energy_j = 0;   // negative: the board has no counter
  double instant_w = 0;  // negative: none
};
/// samples.csv of bench/device/energy. Errors: InputError, also for time that runs backwards.
std::vector<PowerSample> read_power_log(const std::string& path);

struct WindowPower {
  double power_w = 0;
  double sd_w = 0;        // standard error of the slope
  std::size_t steps = 0;  // of the counter inside the window; 0: power_w is a mean of readings
};
/// Mean power of [begin_s, end_s): the slope through the steps of the energy counter, which are the
/// only times at which the counter is known exactly. Without a counter, the mean of the readings.
/// Nothing if the window holds too little of both.
std::optional<WindowPower> window_power(std::span<const PowerSample> samples, double begin_s,
                                        double end_s);

/// The phases of thesis figure 5.6, found in the power alone: memory allocated at t1, kernels from
/// t2 to t3, memory freed at t4.
struct PowerPhases {
  double t0 = 0, t1 = 0, t2 = 0, t3 = 0, t4 = 0, t5 = 0;
  double sleep_w = 0, idle_w = 0, active_w = 0, idle_after_w = 0;
};
/// Nothing if the log holds no run that stands out of its surroundings.
std::optional<PowerPhases> find_phases(std::span<const PowerSample> samples);

}  // namespace tandem
