// Reads and writes the constants of the energy models, with unit, source and kind: "energy" of the
// files in configs/gpus, and configs/kernels/energy.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_model.h"
#include "models/energy/energy_work.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// "energy" of a GPU.
struct EnergyConfig {
  TraceEnergyModel trace;
  AccessEnergies access;
  bool of_base = false;  // another board's or chip's
  double clock_mhz = 0;  // full clock of the chip that they are of
};

/// By name of the GPU; one without constants is absent.
struct EnergyCatalogue {
  std::string folder;  // of the GPUs
  std::vector<std::pair<std::string, EnergyConfig>> gpus;
};

/// The constants of a model, in the order of trace_energy_fields().
std::vector<double TraceEnergyModel::*> trace_energy_members();
std::vector<Field<TraceEnergyModel>> trace_energy_fields();
std::vector<Field<AccessEnergies>> access_energy_fields();

/// "energy" of a file in configs/gpus, or of its base; nothing where neither has one.
/// Errors: InputError `file:key: found X, expected Y`.
std::optional<EnergyConfig> load_energy(const std::string& gpu_path);
/// Those of a GPU in a file outside the folder. Errors: InputError, also for a board that draws
/// more without work than its limit allows.
void add_energy_of(EnergyCatalogue& catalogue, const GpuArch& gpu, const std::string& gpu_path,
                   GpuFiles& files);
EnergyCatalogue load_energies(const GpuCatalogue& gpus);
EnergyCatalogue load_energies(const GpuCatalogue& gpus, GpuFiles& files);
/// The constants of a GPU, with its power limit; `gpu` may hold overrides. Errors: InputError if
/// it has none.
EnergyConfig find_energy(const EnergyCatalogue& catalogue, const GpuArch& gpu);

/// No constant is better known than `least` (relative): constants of another chip.
void widen(EnergyConfig& config, double least);

Json energy_json(const EnergyConfig& config);
/// The text of a GPU's file with these constants in place of its own or of its base's.
std::string with_energy(const std::string& gpu_path, const EnergyConfig& config);

/// configs/kernels/energy.json. Errors: InputError.
WorkRules load_work_rules(const std::string& path);
/// `rates_origin`: of all typical rates together.
std::string to_json(const WorkRules& rules, const std::vector<Provenance>& origins,
                    const Provenance& rates_origin);
std::vector<Field<WorkRules>> work_rule_fields();

}  // namespace tandem
