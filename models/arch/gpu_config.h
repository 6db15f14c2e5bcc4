// Reads GPU configs, finds the GPU that a name or a trace means, and applies overrides.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// All known GPUs, sorted by name; names, display names and aliases are unique.
struct GpuCatalogue {
  std::string folder;
  std::vector<GpuArch> gpus;
};

/// The files of GPUs, each read once: others are based on it, and its energy is read for itself.
class GpuFiles {
 public:
  /// `bases`: a second folder to look for bases in.
  explicit GpuFiles(std::string bases = "");
  ~GpuFiles();
  /// Errors: InputError for a file that cannot be read or holds no object.
  const Json& read(const std::string& path);
  /// Where the base of a config is: beside it, else in the second folder. Empty: it has none.
  std::string base_of(const std::string& path);

 private:
  std::string bases_;
  std::map<std::string, std::unique_ptr<const Json>> files_;  // by path
};

/// Reads one config; a "base" names another config that supplies the values this one does not
/// state. Errors: InputError `file:key: found X, expected Y`.
GpuArch load_gpu(const std::string& path);
GpuArch load_gpu(const std::string& path, GpuFiles& files);
/// Whether a GPU is named by the path of its config.
bool is_gpu_file(std::string_view name);
/// Adds the GPU of a file outside the folder. Errors: InputError, also for a name that is taken.
void add_gpu(GpuCatalogue& catalogue, const std::string& path, GpuFiles& files);
/// Reads every *.json of `folder`. Errors: InputError, also for a name that two GPUs claim.
GpuCatalogue load_catalogue(const std::string& folder);
GpuCatalogue load_catalogue(const std::string& folder, GpuFiles& files);

/// The GPU whose name, display name or alias is `name`, case ignored; a path means its file's GPU.
/// Errors: InputError that lists the known names and the nearest one.
const GpuArch& find_gpu(const GpuCatalogue& catalogue, std::string_view name);
/// Whether find_gpu() finds one by that name; paths are none.
bool has_gpu(const GpuCatalogue& catalogue, std::string_view name);

struct DeviceMatch {
  const GpuArch* gpu = nullptr;  // null: no config fits
  bool by_name = false;          // false: taken for its compute capability, SM count and memory
  std::string differs;           // without gpu: why the config of that name is not the device's
};
/// The config that describes a traced device: by name, else by properties, of several the one of
/// the same form factor, then of the nearest name. Where the trace states properties they must
/// agree with the config: a MIG slice does not match the whole GPU.
DeviceMatch match_device(const GpuCatalogue& catalogue, const DeviceProperties& device);

/// Applies "gpu.sm_count=160" or "gpu.dram_peak_gbps=6000 GB/s", all of them, then checks the
/// result. Errors: InputError for an unknown key, a wrong unit, type or range, or a GPU that cannot
/// be (e.g. more TPCs than SMs).
void apply_overrides(GpuArch& gpu, std::span<const std::string> overrides);

/// Errors: InputError for a rate, size or count that no chip has.
void check_gpu_sizes(const GpuArch& gpu, const std::string& file);
/// That, and errors: InputError if values contradict each other.
void check_gpu(const GpuArch& gpu, const std::string& file);

/// A config file with every value of `gpu` and its origin; load_gpu reads it back unchanged.
std::string to_json(const GpuArch& gpu);
/// The text of a config file: a line for each value.
std::string gpu_file_text(const Json& json);
/// A config file to fill in: every value null, its documentation as source.
std::string gpu_template();
/// Table of all values: name, value, unit, kind, source.
std::string describe(const GpuArch& gpu);

}  // namespace tandem
