#include "sim/predict/configs.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace tandem {

namespace {

/// The host's own constants of an executor where there are any.
std::string executor_path(const std::string& folder, const std::string& host) {
  std::error_code error;
  const std::string own = folder + host + ".json";
  return std::filesystem::is_regular_file(own, error) ? own : folder + "tensorflow.json";
}

}  // namespace

Configs load_configs(const std::string& folder, const std::string& host, const std::string& gpu) {
  GpuCatalogue gpus = load_catalogue(folder + "/gpus");
  EnergyCatalogue energies = load_energies(gpus);
  if (is_gpu_file(gpu)) {
    add_gpu(gpus, gpu);
    add_energy_of(energies, gpus.gpus.back().name, gpu);
  }
  HostModel host_model = load_host_model(folder + "/hosts/" + host + ".json");
  host_model.executor = load_executor_model(executor_path(folder + "/hosts/executor/", host));
  return {folder,
          std::move(gpus),
          std::move(host_model),
          CostConstants::load(folder + "/kernels/costs.json"),
          load_work_rules(folder + "/kernels/energy.json"),
          std::move(energies),
          TimeConstants::load(folder + "/kernels/time.json"),
          load_library_names(folder + "/kernels/libraries.json"),
          load_measured_layers(folder + "/kernels/layers.json"),
          load_retarget_errors(folder + "/kernels/retarget.json"),
          load_batch_law(folder + "/kernels/batch.json"),
          load_fusion_law(folder + "/kernels/fusion.json"),
          load_precision_law(folder + "/kernels/precision.json"),
          load_bands(folder + "/bands.json"),
          load_collective_law(folder + "/kernels/collectives.json")};
}

}  // namespace tandem
