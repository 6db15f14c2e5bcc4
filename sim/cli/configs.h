// Everything that a run reads from the config folder, read once.
#pragma once

#include <string>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/kernel/cost_constants.h"
#include "models/runtime/host_model.h"
#include "models/whatif/batch_law.h"

namespace tandem {

struct Configs {
  std::string folder;
  GpuCatalogue gpus;
  HostModel host;
  CostConstants costs;
  WorkRules work_rules;
  BatchLaw batch;
};

/// `folder` holds gpus/, hosts/, kernels/ and energy/. Errors: InputError that names the file.
Configs load_configs(const std::string& folder, const std::string& host);

}  // namespace tandem
