#include "validation/papers/load.h"

#include <algorithm>

#include "sim/core/files/folder.h"
#include "validation/papers/rows.h"

namespace tandem {

namespace {

void load_file(const std::string& path, const GpuCatalogue& gpus, Claims& out) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  allow_keys(json, place, {"schema", "chapter", "source", "scenarios", "claims", "figures"});
  if (text_of(json, place, "schema") != claims_schema) {
    (place / "schema").fail(describe_json(json["schema"]), std::string(claims_schema));
  }
  const std::string chapter = text_of(json, place, "chapter");
  RowReader reader{gpus, {}};
  if (json.contains("scenarios")) {
    require_object(json["scenarios"], place / "scenarios");
    for (const auto& [name, grid] : json["scenarios"].items()) {
      reader.scenarios[name] = read_scenario(grid, place / "scenarios" / name, reader);
    }
  }
  const auto list = [&](const std::string& key, const auto& read) {
    if (!json.contains(key)) return;
    const Place below = place / key;
    if (!json[key].is_array()) below.fail(describe_json(json[key]), "a list");
    for (std::size_t i = 0; i < json[key].size(); ++i) {
      read(json[key][i], below / std::to_string(i));
    }
  };
  list("claims", [&](const Json& row, const Place& at) {
    out.claims.push_back(read_claim(row, at, reader));
    out.claims.back().chapter = chapter;
  });
  list("figures", [&](const Json& row, const Place& at) {
    out.figures.push_back(read_figure(row, at, reader));
  });
}

void check_ids(const std::string& folder, const std::vector<Claim>& claims) {
  std::vector<std::string> ids;
  for (const Claim& claim : claims) ids.push_back(claim.id);
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) throw InputError(folder, *twice, "two rows", "one row an id");
}

}  // namespace

Claims load_claims(const std::string& folder, const std::string& configs) {
  const std::vector<std::string> paths = json_files(folder);
  if (paths.empty()) throw InputError(folder, "", "no claims", "a folder with *.json claim files");
  const GpuCatalogue gpus = load_catalogue(configs + "/gpus");
  Claims out;
  for (const std::string& path : paths) load_file(path, gpus, out);
  check_ids(folder, out.claims);
  return out;
}

}  // namespace tandem
