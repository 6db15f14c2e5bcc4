// Captures with measured power: traces NAME.json.gz beside NAME.meta.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_work.h"
#include "models/step/launches.h"
#include "sim/trace/links.h"

namespace tandem {

/// A trace and what was measured of the same run without the profiler.
struct Capture {
  std::string name;
  std::string model;     // captures of one model are left out together
  double window_us = 0;  // an iteration in the power window, which is not iter_s: hosts drift
  double power_w = 0;    // NVML power
  double counter_j = 0;  // NVML energy counter, per iteration
  const GpuArch* gpu = nullptr;
  std::unique_ptr<Trace> trace;
  Links links;
  std::unique_ptr<TraceLaunches> launches;
  std::vector<std::vector<std::uint32_t>> steps;  // activities

  double energy_j() const { return power_w * window_us * 1e-6; }
};

/// Captures of a folder (or of its folder traces/) that have a measured power, by name. Without
/// `shapes` the operations are hidden, as in a graph capture. Errors: InputError.
std::vector<Capture> load_captures(const std::string& folder, const GpuCatalogue& gpus,
                                   bool shapes = true);

/// The works of a mean step: works of all steps, to be divided by their number.
std::vector<EnergyWork> works_of(const Capture& capture, const CostConstants& costs,
                                 const WorkRules& rules);

/// Energy of a mean step that takes the window's time.
StepEnergy predict(const Capture& capture, const TraceEnergyModel& model,
                   const CostConstants& costs, const WorkRules& rules);

/// |error| over captures.
struct ErrorStats {
  std::size_t count = 0;
  double mean = 0, median = 0, worst = 0, bias = 0;
};
ErrorStats error_stats(std::vector<double> errors);
std::string to_text(const ErrorStats& stats);

}  // namespace tandem
