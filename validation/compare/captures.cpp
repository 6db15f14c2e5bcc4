#include "validation/compare/captures.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/core/fields/field.h"
#include "sim/trace/source/stored_name.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

using Folders = std::vector<std::string>;

std::optional<std::string> find_capture(const std::string& name, const Folders& folders) {
  for (const std::string& folder : folders) {
    if (auto path = find_stored((fs::path(folder) / (name + ".json")).string())) return path;
  }
  return {};
}

/// Traces of a folder by name, without those whose name begins with an excluded prefix.
void add_folder(const fs::path& folder, const std::vector<std::string>& excluded,
                std::map<std::string, std::string>& found) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    const bool out = std::any_of(excluded.begin(), excluded.end(), [&](const std::string& prefix) {
      return file.starts_with(prefix);
    });
    if (trace_stem(file) && !out) found.emplace(capture_name(file), entry.path().string());
  }
}

std::map<std::string, std::string> find_traces(const Case& c, const Folders& folders,
                                               std::vector<std::string>& missing) {
  std::map<std::string, std::string> found;  // name -> path
  for (const std::string& pattern : c.traces) {
    const std::size_t before = found.size();
    if (pattern.ends_with("/*")) {
      for (const std::string& folder : folders) {
        add_folder(fs::path(folder) / pattern.substr(0, pattern.size() - 2), c.excluded, found);
      }
      if (found.size() == before) missing.push_back(pattern);
    } else if (const auto path = find_capture(pattern, folders)) {
      found.emplace(capture_name(*path), *path);
    } else {
      missing.push_back(pattern);
    }
  }
  return found;
}

/// Nothing, and the names noted, if a capture is not here.
std::optional<PairPaths> find_pair(const CasePair& pair, const Folders& folders,
                                   std::vector<std::string>& missing) {
  PairPaths paths;
  bool all = true;
  for (const auto& [name, path] :
       {std::pair{&pair.base, &paths.base}, std::pair{&pair.second_base, &paths.second_base},
        std::pair{&pair.measured, &paths.measured}}) {
    if (name->empty()) continue;
    const auto found = find_capture(*name, folders);
    if (found) *path = *found;
    if (!found) missing.push_back(*name);
    all = all && found.has_value();
  }
  if (!all) return {};
  return paths;
}

/// The file that lies beside a trace or network, of the same name with another ending.
std::string beside(const std::string& path, std::string_view ending) {
  return std::string(trace_stem(path).value_or(path)) + std::string(ending);
}

}  // namespace

std::string capture_name(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  return std::string(trace_stem(file).value_or(file));
}

std::string meta_of(const std::string& trace_path) { return beside(trace_path, ".meta.json"); }

double meta_number(const std::string& trace_path, const std::string& key) {
  const std::string path = meta_of(trace_path);
  const Json meta = read_json_file(path);
  if (!meta.contains(key) || !meta[key].is_number() || meta[key].get<double>() <= 0) {
    throw InputError(path, key, "no positive number", "a measured value");
  }
  return meta[key].get<double>();
}

std::optional<std::int64_t> stated_batch(const std::string& trace_path) {
  const std::string path = meta_of(trace_path);
  if (!fs::is_regular_file(path)) return {};
  const Json meta = read_json_file(path);
  if (!meta.contains("batch") || !meta["batch"].is_number_integer()) return {};
  return meta["batch"].get<std::int64_t>();
}

double measured_us(const std::string& trace_path) {
  return meta_number(trace_path, "iter_s") * 1e6;
}

std::optional<std::string> counters_of(const std::string& trace_path) {
  const fs::path folder = fs::path(trace_path).parent_path().parent_path() / "counters";
  return find_stored((folder / (capture_name(trace_path) + ".csv")).string());
}

std::string operators_of(const std::string& network_path) { return beside(network_path, ".csv"); }

FoundCaptures find_captures(const Case& c, const Folders& data_folders) {
  FoundCaptures found;
  for (const auto& [name, path] : find_traces(c, data_folders, found.missing)) {
    found.traces.push_back(path);
  }
  for (const CasePair& pair : c.pairs) {
    if (const auto paths = find_pair(pair, data_folders, found.missing)) {
      found.pairs.push_back(*paths);
    }
  }
  for (const PublishedRate& rate : c.rates) {
    if (const auto path = find_capture(rate.network, data_folders)) {
      found.rates.push_back({*path, rate});
    } else {
      found.missing.push_back(rate.network);
    }
  }
  return found;
}

}  // namespace tandem
