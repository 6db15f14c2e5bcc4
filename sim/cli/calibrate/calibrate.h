// The calibrations that `tandem calibrate` lists in its table, from recordings of bench/device.
#pragma once

#include "sim/cli/command.h"

namespace tandem {

/// Energy per access; recordings of bench/device/energy. Errors: InputError.
int calibrate_energy(const Arguments& arguments);
CommandLine calibrate_energy_line();
/// Cache sizes; recordings of bench/device/cache. Errors: InputError.
int calibrate_cache(const Arguments& arguments);
CommandLine calibrate_cache_line();

}  // namespace tandem
