#include "validation/compare/manifest.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/fields/field.h"

namespace tandem {

namespace {

constexpr std::string_view use_names[] = {"holdout", "seen", "fitted"};

ConstantUse read_use(const Json& json, const Place& place) {
  static const std::vector<Field<ConstantUse>> fields{
      field<ConstantUse>("constants", "", "file below configs", &ConstantUse::constants),
      choice_field<ConstantUse>("use", "seen or fitted", &ConstantUse::use, use_names),
      field<ConstantUse>("captures", "", "name prefixes; empty: all", &ConstantUse::captures),
      field<ConstantUse>("what", "", "which constants, from what", &ConstantUse::what)};
  ConstantUse out;
  read_fields(json, place, std::span<const Field<ConstantUse>>(fields), out);
  if (out.use == DataUse::holdout) (place / "use").fail("holdout", "one of: seen, fitted");
  return out;
}

std::vector<Field<CaptureManifest>> manifest_fields() {
  using M = CaptureManifest;
  Field<M> used{"used_for",
                "",
                "constants that these captures gave",
                [](M& object, const Json& json, const Place& place) {
                  if (!json.is_array()) place.fail(describe_json(json), "a list of uses");
                  for (std::size_t i = 0; i < json.size(); ++i) {
                    object.used_for.push_back(read_use(json[i], place / std::to_string(i)));
                  }
                },
                {}};
  return {field<M>("gpu", "", "config of configs/gpus", &M::gpu),
          field<M>("date", "", "of the first capture", &M::date),
          field<M>("machine", "", "GPU and host", &M::machine),
          field<M>("versions", "", "framework, libraries, driver", &M::versions),
          field<M>("holds", "", "workloads", &M::holds),
          field<M>("measured", "", "how", &M::measured),
          field<M>("licence", "", "of the captures", &M::licence),
          std::move(used)};
}

}  // namespace

std::string_view to_string(DataUse use) { return use_names[static_cast<std::size_t>(use)]; }

CaptureManifest load_manifest(const std::string& path) {
  const auto fields = manifest_fields();
  CaptureManifest manifest;
  read_fields(read_json_file(path), Place{path, ""},
              std::span<const Field<CaptureManifest>>(fields), manifest);
  return manifest;
}

std::optional<CaptureManifest> manifest_of(const std::string& capture_path) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(capture_path).parent_path().parent_path() / "manifest.json";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  return load_manifest(path.string());
}

DataUse use_of(const CaptureManifest& manifest, const std::string& capture,
               const std::vector<std::string>& constants) {
  DataUse out = DataUse::holdout;
  for (const ConstantUse& use : manifest.used_for) {
    const auto& of = use.captures;
    const bool this_one = of.empty() || std::any_of(of.begin(), of.end(), [&](const auto& prefix) {
                            return capture.starts_with(prefix);
                          });
    const bool these =
        std::find(constants.begin(), constants.end(), use.constants) != constants.end();
    if (this_one && these) out = std::max(out, use.use);
  }
  return out;
}

}  // namespace tandem
