#include "sim/predict/configs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/core/files/folder.h"
#include "sim/core/named.h"

namespace tandem {

Configs::Configs() = default;
Configs::Configs(const Configs&) = default;
Configs::Configs(Configs&&) noexcept = default;
Configs& Configs::operator=(const Configs&) = default;
Configs& Configs::operator=(Configs&&) noexcept = default;
Configs::~Configs() = default;

namespace {

/// The host's own constants of an executor where there are any.
std::string executor_path(const std::string& folder, const std::string& host) {
  std::error_code error;
  const std::string own = folder + host + ".json";
  return std::filesystem::is_regular_file(own, error) ? own : folder + "tensorflow.json";
}

void add_file(GpuCatalogue& gpus, EnergyCatalogue& energies, const std::string& gpu) {
  if (!is_gpu_file(gpu)) return;
  GpuFiles files(gpus.folder);
  add_gpu(gpus, gpu, files);
  add_energy_of(energies, gpus.gpus.back(), gpu, files);
}

}  // namespace

std::vector<std::string> host_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& path : json_files(folder + "/hosts")) {
    names.push_back(std::filesystem::path(path).stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string host_path(const std::string& folder, const std::string& host) {
  if (host.ends_with(".json")) return host;
  const std::vector<std::string> names = host_names(folder);
  if (std::find(names.begin(), names.end(), host) != names.end()) {
    return folder + "/hosts/" + host + ".json";
  }
  throw InputError("host", "", "unknown host \"" + host + "\"",
                   "the path of a .json, or " + expected_name(names, host));
}

Configs load_configs(const std::string& folder, const std::string& host, const std::string& gpu) {
  GpuFiles files;
  GpuCatalogue gpus = load_catalogue(folder + "/gpus", files);
  DefaultGpus default_gpus = load_default_gpus(folder + "/defaults.json", gpus);
  EnergyCatalogue energies = load_energies(gpus, files);
  add_file(gpus, energies, gpu);
  HostModel host_model = load_host_model(host_path(folder, host));
  host_model.executor =
      load_executor_model(executor_path(folder + "/hosts/executor/", host_model.name));
  Configs out;
  out.folder = folder;
  out.gpus = std::move(gpus);
  out.default_gpus = std::move(default_gpus);
  out.host = std::move(host_model);
  out.costs = CostConstants::load(folder + "/kernels/costs.json");
  out.work_rules = load_work_rules(folder + "/kernels/energy.json");
  out.energies = std::move(energies);
  out.time = TimeConstants::load(folder + "/kernels/time.json");
  out.libraries = load_library_names(folder + "/kernels/libraries.json");
  out.layers = load_measured_layers(folder + "/kernels/layers.json");
  if (!has_gpu(out.gpus, out.layers.gpu)) {
    throw InputError(folder + "/kernels/layers.json", "gpu", "\"" + out.layers.gpu + "\"",
                     "the name of a GPU of " + folder + "/gpus");
  }
  out.retarget = load_retarget_errors(folder + "/kernels/retarget.json");
  out.batch = load_batch_law(folder + "/kernels/batch.json");
  out.fusion = load_fusion_law(folder + "/kernels/fusion.json");
  out.precision = load_precision_law(folder + "/kernels/precision.json");
  out.optimizer = load_optimizer_law(folder + "/kernels/optimizer.json");
  out.bands = load_bands(folder + "/bands.json");
  out.collectives = load_collective_law(folder + "/kernels/collectives.json");
  out.repeats = load_repeat_law(folder + "/kernels/repeats.json");
  return out;
}

void add_gpu_file(Configs& configs, const std::string& gpu) {
  add_file(configs.gpus, configs.energies, gpu);
}

}  // namespace tandem
