// What a simulated scenario says, as named numbers: one list for all rows of claims and figures.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/energy/energy_model.h"
#include "sim/predict/predict.h"
#include "sim/sweep/grid.h"

namespace tandem {

struct Number {
  double value = 0;
  std::string unit;
};
using Numbers = std::map<std::string, Number, std::less<>>;

/// Metrics of sweeps, parts of the energy, the bound of data movement by `access` (nothing: none),
/// memory, the distribution over kernels, "kernel_time.METRIC", "layer.TYPE.METRIC" and, for the
/// largest among the other types of layer, "layers_but.TYPE+TYPE.METRIC" by other_layers().
Numbers step_numbers(const Prediction& prediction, const std::optional<AccessEnergies>& access);

/// The largest METRIC of types of layer that `name`, "layers_but.TYPE+TYPE.METRIC", does not list.
std::optional<Number> other_layers(const Numbers& numbers, std::string_view name);

/// Of a program of settings.h. `root`: of configs/ and validation/captures/. Errors: InputError.
Numbers program_numbers(const Point& scenario, const std::string& root);

/// The sum of `names`; nothing, and `lacking` said, where one is not there or not known.
std::optional<Number> sum_of(const Numbers& numbers, const std::vector<std::string>& names,
                             std::string& lacking);

/// A number in another unit: "ratio" in "%" or "points". Nothing: there is no way from one to the
/// other.
std::optional<double> in_unit(const Number& number, std::string_view unit);

}  // namespace tandem
