// Reads and writes configs/energy: the constants of the energy models, with unit, source and kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/energy/energy_model.h"
#include "models/energy/energy_work.h"
#include "sim/core/field.h"

namespace tandem {

/// One file of configs/energy: constants that hold for one or several GPUs of configs/gpus.
struct EnergyConfig {
  std::vector<std::string> gpus;
  TraceEnergyModel trace;
  AccessEnergies access;
};

/// The constants of a model, in the order of trace_energy_fields().
std::vector<double TraceEnergyModel::*> trace_energy_members();
std::vector<Field<TraceEnergyModel>> trace_energy_fields();
std::vector<Field<AccessEnergies>> access_energy_fields();

/// Errors: InputError `file:key: found X, expected Y`.
EnergyConfig load_energy(const std::string& path);
/// The file of `folder` that names `gpu`, with the GPU's power limit. Errors: InputError if none
/// does, or two do.
EnergyConfig find_energy(const std::string& folder, const GpuArch& gpu);
std::string to_json(const EnergyConfig& config);

/// configs/energy/work.json. Errors: InputError.
WorkRules load_work_rules(const std::string& path);
/// `rates_origin`: of all typical rates together.
std::string to_json(const WorkRules& rules, const std::vector<Provenance>& origins,
                    const Provenance& rates_origin);
std::vector<Field<WorkRules>> work_rule_fields();

/// File name of the rules in a folder of energy configs; not a GPU's.
inline constexpr std::string_view work_rules_file = "work.json";

}  // namespace tandem
