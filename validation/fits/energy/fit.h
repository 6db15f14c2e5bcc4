// Fits the constants of trace_energy and the typical rates on captures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/energy/energy_config.h"
#include "validation/fits/energy/captures.h"

namespace tandem {

/// What is known of a constant before the captures are seen; parallel to the fitted fields of
/// TraceEnergyModel. A file of sourced values; errors: InputError.
struct Prior {
  double value = 0;
  double sd = 0;
};
std::vector<Prior> load_priors(const std::string& path);

/// Sets the typical rates: shares of the peaks that kernels with shapes reach, by class.
void fit_rates(std::span<const Capture* const> captures, WorkRules& rules);

/// Least squares on relative errors, robust against single captures, with priors.
/// Fills values, uncertainties and correlation; sources stay empty.
TraceEnergyModel fit_trace_energy(std::span<const Capture* const> captures,
                                  const CostConstants& costs, const WorkRules& rules,
                                  std::span<const Prior> priors);

/// Relative errors of every capture, predicted from rates and constants of the other models.
std::vector<double> leave_one_model_out(const std::vector<Capture>& captures,
                                        const CostConstants& costs, WorkRules rules,
                                        std::span<const Prior> priors);

}  // namespace tandem
