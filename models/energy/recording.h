// One recording of bench/device/energy, evaluated: idle power, energy per access of every kernel,
// what had to be dropped and why; and several of them -> the constants of a GPU.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/energy/calibration.h"
#include "models/energy/energy_model.h"

namespace tandem {

/// Share by which a profiler's counts differ from the work that a kernel's points state, by kernel.
using Disagreements = std::map<std::string, double>;

/// A kernel of the kit.
struct MeasuredAccess {
  AccessCalibration access;
  std::string unit;                   // "sector" or "FLOP"
  std::optional<double> counted_off;  // of Disagreements
};

struct EnergyRecording {
  std::string folder;
  Estimate idle;    // W
  Estimate asleep;  // W, threads resident that sleep; 0: not recorded
  Line active_sm;   // W over SMs
  std::vector<MeasuredAccess> accesses;
  std::vector<DroppedPoint> dropped;
  std::optional<Estimate> l1_divide, l2_divide;  // pJ a thread's division
  std::optional<PowerPhases> phases;             // of thesis figure 5.6
};

/// Reads samples.csv and points.csv and, if there, phases.csv of the folder. Kernels whose counts
/// are off by more than 2 % are dropped. Errors: InputError for files that are missing or hold no
/// idle point.
EnergyRecording evaluate_recording(const std::string& folder, double sm_count,
                                   const Disagreements& counted = {});

/// The access of that kernel, or nothing.
const MeasuredAccess* find_access(const EnergyRecording& recording, std::string_view kernel);

/// Means over the recordings. The relative standard deviation of a constant joins its interval and
/// how boards differ; with one board, by 12 % as two H200 did at most.
/// Errors: InputError if a memory level has fewer than three points of whole warps in a recording
/// or its 95 % interval is wider than half its value.
AccessEnergies access_energies(std::span<const EnergyRecording> recordings,
                               const std::string& source);

/// Power that somebody measured at a known rate, against idle + rate x energies found here.
struct PowerCheck {
  std::string point;
  double measured_w = 0;
  double predicted_w = 0;
};
/// Rows of `path` (gpu, point, power_w, dram_gbps, tflops) for `gpu`. Empty if the recording lacks
/// dram_stream or ffma. Errors: InputError.
std::vector<PowerCheck> power_checks(const EnergyRecording& recording, const std::string& path,
                                     const std::string& gpu);

}  // namespace tandem
