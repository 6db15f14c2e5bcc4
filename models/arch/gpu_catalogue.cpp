#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "models/arch/gpu_config.h"
#include "sim/core/error.h"
#include "sim/core/files/folder.h"
#include "sim/core/named.h"

namespace tandem {
namespace {

// Everything a GPU may be called, in lower case, without repetition.
std::vector<std::string> all_names(const GpuArch& gpu) {
  std::vector<std::string> names{lower_case(gpu.name), lower_case(gpu.display_name)};
  for (const std::string& alias : gpu.aliases) names.push_back(lower_case(alias));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void check_unique(const GpuCatalogue& catalogue) {
  std::map<std::string, std::string> owner;
  for (const GpuArch& gpu : catalogue.gpus) {
    for (const std::string& name : all_names(gpu)) {
      const auto [it, added] = owner.emplace(name, gpu.name);
      if (!added) {
        throw InputError(catalogue.folder, gpu.name,
                         fmt::format("\"{}\", which {} claims too", name, it->second),
                         "each name and alias at one GPU");
      }
    }
  }
}

const GpuArch* by_name(const GpuCatalogue& catalogue, std::string_view name) {
  const std::string wanted = lower_case(name);
  for (const GpuArch& gpu : catalogue.gpus) {
    const auto names = all_names(gpu);
    if (std::binary_search(names.begin(), names.end(), wanted)) return &gpu;
  }
  return nullptr;
}

// The names of all GPUs, and the one of which any name is near.
std::string expected(const GpuCatalogue& catalogue, std::string_view name) {
  std::vector<std::string> known, any, owners;
  for (const GpuArch& gpu : catalogue.gpus) {
    known.push_back(gpu.name);
    for (const std::string& one : all_names(gpu)) {
      any.push_back(one);
      owners.push_back(gpu.name);
    }
  }
  const auto near = nearest_name(any, name);
  return fmt::format("one of: {}{}", fmt::join(known, ", "),
                     near ? fmt::format("; did you mean {}?", owners[*near]) : std::string());
}

// A trace that does not state a property (0) agrees with every GPU.
bool agrees(const GpuArch& gpu, const DeviceProperties& device) {
  const bool same_capability =
      device.compute_major == 0 ||
      (device.compute_major == gpu.compute_major && device.compute_minor == gpu.compute_minor);
  return same_capability && (device.sm_count == 0 || device.sm_count == gpu.sm_count);
}

// Boards of one size differ by up to 0.8 % in what the driver keeps for itself; ECC on HBM costs
// nothing. Sizes that are sold (16/32, 40/80, 94/96 GB) are further apart.
bool same_memory(const GpuArch& gpu, const DeviceProperties& device) {
  const double ratio =
      static_cast<double>(device.memory_bytes) / static_cast<double>(gpu.memory_bytes);
  return std::abs(ratio - 1.0) < 0.01;
}

// How names say in what form a GPU is built; which one it is decides on power and links.
constexpr std::string_view form_factors[] = {"sxm", "pcie", "nvl"};

// 1: of the same form factor, -1: of another, 0: a name does not say.
int same_form(const GpuArch& gpu, std::string_view device_name) {
  const auto form_of = [](const std::string& name) {
    const auto* const form =
        std::find_if(std::begin(form_factors), std::end(form_factors),
                     [&](std::string_view f) { return name.find(f) != std::string::npos; });
    return form == std::end(form_factors) ? std::string_view{} : *form;
  };
  const std::string_view wanted = form_of(lower_case(device_name));
  const std::string_view form = form_of(lower_case(gpu.name));
  if (wanted.empty() || form.empty()) return 0;
  return wanted == form ? 1 : -1;
}

// What a device states that the config of its name does not.
std::string difference(const GpuArch& gpu, const DeviceProperties& device) {
  if (device.sm_count != 0 && device.sm_count != gpu.sm_count) {
    return fmt::format("it has {} SMs, {} has {}", device.sm_count, gpu.name, gpu.sm_count);
  }
  return fmt::format("its compute capability is {}.{}, that of {} {}.{}", device.compute_major,
                     device.compute_minor, gpu.name, gpu.compute_major, gpu.compute_minor);
}

std::size_t common_prefix(const GpuArch& gpu, std::string_view device_name) {
  const std::string wanted = lower_case(device_name);
  std::size_t best = 0;
  for (const std::string& name : all_names(gpu)) {
    const auto end = std::mismatch(name.begin(), name.end(), wanted.begin(), wanted.end()).first;
    best = std::max(best, static_cast<std::size_t>(end - name.begin()));
  }
  return best;
}

}  // namespace

GpuCatalogue load_catalogue(const std::string& folder, GpuFiles& files) {
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(folder, "", "no folder", "a folder of GPU configs");
  }
  GpuCatalogue catalogue{folder, {}};
  for (const std::string& path : json_files(folder)) {
    catalogue.gpus.push_back(load_gpu(path, files));
  }
  if (catalogue.gpus.empty()) throw InputError(folder, "", "no *.json", "GPU configs");
  std::sort(catalogue.gpus.begin(), catalogue.gpus.end(),
            [](const GpuArch& a, const GpuArch& b) { return a.name < b.name; });
  check_unique(catalogue);
  return catalogue;
}

GpuCatalogue load_catalogue(const std::string& folder) {
  GpuFiles files;
  return load_catalogue(folder, files);
}

bool is_gpu_file(std::string_view name) { return name.ends_with(".json"); }

void add_gpu(GpuCatalogue& catalogue, const std::string& path, GpuFiles& files) {
  catalogue.gpus.push_back(load_gpu(path, files));
  check_unique(catalogue);
}

bool has_gpu(const GpuCatalogue& catalogue, std::string_view name) {
  return by_name(catalogue, name) != nullptr;
}

const GpuArch& find_gpu(const GpuCatalogue& catalogue, std::string_view name) {
  const std::string stem = std::filesystem::path(name).stem().string();
  if (is_gpu_file(name)) return find_gpu(catalogue, stem);
  if (const GpuArch* gpu = by_name(catalogue, name)) return *gpu;
  throw InputError("gpu", "", fmt::format("unknown GPU \"{}\"", name), expected(catalogue, name));
}

DeviceMatch match_device(const GpuCatalogue& catalogue, const DeviceProperties& device) {
  if (const GpuArch* gpu = by_name(catalogue, device.name)) {
    if (agrees(*gpu, device)) return {gpu, true, ""};
    return {nullptr, false, difference(*gpu, device)};
  }
  DeviceMatch match;
  if (device.compute_major == 0 || device.sm_count == 0 || device.memory_bytes == 0) return match;
  const auto likeness = [&](const GpuArch& gpu) {
    return std::pair(same_form(gpu, device.name), common_prefix(gpu, device.name));
  };
  for (const GpuArch& gpu : catalogue.gpus) {
    if (!agrees(gpu, device) || !same_memory(gpu, device)) continue;
    if (match.gpu == nullptr || likeness(gpu) > likeness(*match.gpu)) match.gpu = &gpu;
  }
  return match;
}

}  // namespace tandem
