#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "models/arch/gpu_config.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Everything a GPU may be called, in lower case, without repetition.
std::vector<std::string> names_of(const GpuArch& gpu) {
  std::vector<std::string> names{lower(gpu.name), lower(gpu.display_name)};
  for (const std::string& alias : gpu.aliases) names.push_back(lower(alias));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void check_unique(const GpuCatalogue& catalogue) {
  std::map<std::string, std::string> owner;
  for (const GpuArch& gpu : catalogue.gpus) {
    for (const std::string& name : names_of(gpu)) {
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
  const std::string wanted = lower(name);
  for (const GpuArch& gpu : catalogue.gpus) {
    const auto names = names_of(gpu);
    if (std::binary_search(names.begin(), names.end(), wanted)) return &gpu;
  }
  return nullptr;
}

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The GPU with a name nearest to `name`; a name that contains the text counts as near.
std::string nearest(const GpuCatalogue& catalogue, std::string_view name) {
  const std::string wanted = lower(name);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, wanted.size() / 3) + 1;
  for (const GpuArch& gpu : catalogue.gpus) {
    for (const std::string& candidate : names_of(gpu)) {
      const bool contains = wanted.size() >= 2 && candidate.find(wanted) != std::string::npos;
      const std::size_t distance = contains ? 0 : edit_distance(wanted, candidate);
      if (distance < best_distance) {
        best = gpu.name;
        best_distance = distance;
      }
    }
  }
  return best;
}

// A trace that does not state a property (0) agrees with every GPU.
bool agrees(const GpuArch& gpu, const DeviceProperties& device) {
  const bool same_capability =
      device.compute_major == 0 ||
      (device.compute_major == gpu.compute_major && device.compute_minor == gpu.compute_minor);
  return same_capability && (device.sm_count == 0 || device.sm_count == gpu.sm_count);
}

// Boards of one size differ by well under 2 % in what the driver keeps for itself; ECC on HBM costs
// nothing. Sizes that are sold (16/32, 40/80, 80/94/141 GB) are further apart.
bool same_memory(const GpuArch& gpu, const DeviceProperties& device) {
  const double ratio =
      static_cast<double>(device.memory_bytes) / static_cast<double>(gpu.memory_bytes);
  return std::abs(ratio - 1.0) < 0.05;
}

std::size_t common_prefix(const GpuArch& gpu, std::string_view device_name) {
  const std::string wanted = lower(device_name);
  std::size_t best = 0;
  for (const std::string& name : names_of(gpu)) {
    const auto end = std::mismatch(name.begin(), name.end(), wanted.begin(), wanted.end()).first;
    best = std::max(best, static_cast<std::size_t>(end - name.begin()));
  }
  return best;
}

}  // namespace

GpuCatalogue load_catalogue(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) {
    throw InputError(folder, "", "no folder", "a folder of GPU configs");
  }
  GpuCatalogue catalogue{folder, {}};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      catalogue.gpus.push_back(load_gpu(entry.path().string()));
    }
  }
  if (catalogue.gpus.empty()) throw InputError(folder, "", "no *.json", "GPU configs");
  std::sort(catalogue.gpus.begin(), catalogue.gpus.end(),
            [](const GpuArch& a, const GpuArch& b) { return a.name < b.name; });
  check_unique(catalogue);
  return catalogue;
}

bool is_gpu_file(std::string_view name) { return name.ends_with(".json"); }

void add_gpu(GpuCatalogue& catalogue, const std::string& path) {
  catalogue.gpus.push_back(load_gpu(path, catalogue.folder));
  check_unique(catalogue);
}

const GpuArch& find_gpu(const GpuCatalogue& catalogue, std::string_view name) {
  const std::string stem = std::filesystem::path(name).stem().string();
  if (is_gpu_file(name)) return find_gpu(catalogue, stem);
  if (const GpuArch* gpu = by_name(catalogue, name)) return *gpu;
  std::vector<std::string> known;
  for (const GpuArch& gpu : catalogue.gpus) known.push_back(gpu.name);
  const std::string near = nearest(catalogue, name);
  throw InputError("gpu", "", fmt::format("unknown GPU \"{}\"", name),
                   fmt::format("one of: {}{}", fmt::join(known, ", "),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

DeviceMatch match_device(const GpuCatalogue& catalogue, const DeviceProperties& device) {
  if (const GpuArch* gpu = by_name(catalogue, device.name)) {
    return agrees(*gpu, device) ? DeviceMatch{gpu, true} : DeviceMatch{};
  }
  DeviceMatch match;
  if (device.compute_major == 0 || device.sm_count == 0 || device.memory_bytes == 0) return match;
  for (const GpuArch& gpu : catalogue.gpus) {
    if (!agrees(gpu, device) || !same_memory(gpu, device)) continue;
    if (match.gpu == nullptr ||
        common_prefix(gpu, device.name) > common_prefix(*match.gpu, device.name)) {
      match.gpu = &gpu;
    }
  }
  return match;
}

}  // namespace tandem
