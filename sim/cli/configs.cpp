#include "sim/cli/configs.h"

namespace tandem {

Configs load_configs(const std::string& folder, const std::string& host) {
  return {folder,
          load_catalogue(folder + "/gpus"),
          load_host_model(folder + "/hosts/" + host + ".json"),
          CostConstants::load(folder + "/kernels/costs.json"),
          load_work_rules(folder + "/energy/" + std::string(work_rules_file)),
          TimeConstants::load(folder + "/kernels/time.json"),
          load_retarget_law(folder + "/kernels/retarget.json"),
          load_batch_law(folder + "/kernels/batch.json"),
          load_fusion_law(folder + "/kernels/fusion.json"),
          load_precision_law(folder + "/kernels/precision.json")};
}

}  // namespace tandem
