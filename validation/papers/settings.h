// What a claim says is simulated: settings by name, as the command line and sweeps name them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/sweep/grid.h"

namespace tandem {

struct Place;

/// Values by setting; several values of a setting are as many scenarios.
using Grid = std::map<std::string, std::vector<std::string>>;

/// Batches that are found: the largest power of two whose peak of memory fits, and half of it.
inline constexpr std::string_view batch_largest = "largest";
inline constexpr std::string_view batch_half_of_largest = "largest/2";

/// Programs that papers measure beside training steps.
inline constexpr std::string_view square_program = "square";            // EuroMLSys'23 figure 1
inline constexpr std::string_view matmul_program = "matmul";            // thesis figure 5.11
inline constexpr std::string_view chase_program = "chase";              // thesis figure 5.4
inline constexpr std::string_view calibration_program = "calibration";  // thesis figure 5.9

/// {"network": "resnet50", "gpu": ["a", "b"], "batch": 512}. Errors: InputError for an unknown
/// setting or a value that it cannot have; networks are looked up when they are run.
Grid read_grid(const Json& json, const Place& place, const GpuCatalogue& gpus);

/// `grid` with the settings of `other` in place of its own.
Grid merged(Grid grid, const Grid& other);
Grid grid_of(const Point& point);

/// All scenarios of a grid, settings in the order of their names, without those that ask nothing.
std::vector<Point> scenarios_of(const Grid& grid);

}  // namespace tandem
