#include "sim/cli/configs.h"

namespace tandem {

Configs load_configs(const std::string& folder, const std::string& host) {
  return {folder,
          load_catalogue(folder + "/gpus"),
          load_host_model(folder + "/hosts/" + host + ".json"),
          CostConstants::load(folder + "/kernels/costs.json"),
          load_work_rules(folder + "/energy/" + std::string(work_rules_file)),
          load_batch_law(folder + "/kernels/batch.json")};
}

}  // namespace tandem
