#include "models/arch/gpu_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "models/arch/gpu_dependents.h"
#include "models/arch/gpu_fields.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr std::string_view schema_name = "tandem.gpu/1";
// "base" and "energy" may be left out; models/energy reads the latter.
constexpr std::string_view file_keys[] = {"schema", "name",   "display_name", "aliases",
                                          "base",   "values", "energy"};

void check_file_keys(const Json& json, const Place& file) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(std::begin(file_keys), std::end(file_keys), key) == std::end(file_keys)) {
      file.fail(fmt::format("unknown key \"{}\"", key),
                fmt::format("one of: {}", fmt::join(file_keys, ", ")));
    }
  }
  for (const std::string_view key : file_keys) {
    if (key != "base" && key != "energy" && !json.contains(key)) {
      file.fail(
          fmt::format("no key \"{}\"", key),
          "all of: schema, name, display_name, aliases, values (base and energy may be left out)");
    }
  }
  const std::string_view schemas[] = {schema_name};
  read_choice(json["schema"], file / "schema", schemas);
}

// On one line, with a blank after commas and colons.
std::string inlined(const Json& json) {
  if (!json.is_structured()) return json.dump();
  std::string out;
  for (const auto& [key, value] : json.items()) {
    if (!out.empty()) out += ", ";
    out += (json.is_object() ? Json(key).dump() + ": " : "") + inlined(value);
  }
  return json.is_object() ? "{" + out + "}" : "[" + out + "]";
}

// A line for each value, however deep: files are read and compared by people.
std::string indented(const Json& json, const std::string& indent) {
  if (!json.is_object() || json.contains("value")) return inlined(json);
  std::string out;
  for (const auto& [key, value] : json.items()) {
    if (!out.empty()) out += ",\n";
    out += indent + "  " + Json(key).dump() + ": " + indented(value, indent + "  ");
  }
  return "{\n" + out + "\n" + indent + "}";
}

GpuArch load(const std::string& path, GpuFiles& files, bool may_have_base);

// The values a config starts from: those of its base, or nothing.
GpuArch start_from(const Place& file, GpuFiles& files, bool may_have_base) {
  const std::string base = files.base_of(file.file);
  if (base.empty()) return {};
  if (!may_have_base) (file / "base").fail("a base of a base", "a config without \"base\"");
  return load(base, files, false);
}

void require_all(const std::vector<bool>& seen, const Place& place) {
  const auto fields = gpu_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!seen[i]) {
      place.fail(fmt::format("no key \"{}\"", fields[i].name),
                 "all of: " + known_names(fields) + " (or a \"base\" that has them)");
    }
  }
}

std::vector<std::string> names_of_seen(const std::vector<bool>& seen) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) names.emplace_back(gpu_fields()[i].name);
  }
  return names;
}

GpuArch load(const std::string& path, GpuFiles& files, bool may_have_base) {
  const Place file{path, ""};
  const Json& json = files.read(path);
  check_file_keys(json, file);
  GpuArch gpu = start_from(file, files, may_have_base);
  const bool has_base = json.contains("base");
  read_json(json["name"], file / "name", Range::positive, gpu.name);
  read_json(json["display_name"], file / "display_name", Range::positive, gpu.display_name);
  read_json(json["aliases"], file / "aliases", Range::positive, gpu.aliases);
  const std::string stem = std::filesystem::path(path).stem().string();
  if (gpu.name != stem) (file / "name").fail(gpu.name, stem + ", the name of the file");
  const GpuArch base = gpu;
  const auto seen =
      read_sourced_fields(json["values"], file / "values", gpu_fields(), gpu, gpu.origins);
  if (has_base) {
    check_gpu_sizes(gpu, path);
    scale_dependents(base, names_of_seen(seen), gpu);
  } else {
    require_all(seen, file / "values");
  }
  check_gpu(gpu, path);
  return gpu;
}

}  // namespace

GpuFiles::GpuFiles(std::string bases) : bases_(std::move(bases)) {}
GpuFiles::~GpuFiles() = default;

const Json& GpuFiles::read(const std::string& path) {
  std::unique_ptr<const Json>& file = files_[path];
  if (file == nullptr) {
    auto json = std::make_unique<const Json>(read_json_file(path));
    require_object(*json, {path, ""});
    file = std::move(json);
  }
  return *file;
}

std::string GpuFiles::base_of(const std::string& path) {
  const Json& json = read(path);
  if (!json.contains("base")) return {};
  std::string base;
  read_json(json["base"], Place{path, "base"}, Range::positive, base);
  const auto beside = std::filesystem::path(path).parent_path() / (base + ".json");
  if (bases_.empty() || std::filesystem::exists(beside)) return beside.string();
  return (std::filesystem::path(bases_) / (base + ".json")).string();
}

GpuArch load_gpu(const std::string& path, GpuFiles& files) { return load(path, files, true); }

GpuArch load_gpu(const std::string& path) {
  GpuFiles files;
  return load_gpu(path, files);
}

std::string to_json(const GpuArch& gpu) {
  const auto fields = gpu_fields();
  Json values = Json::object();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    values[fields[i].name] = write_sourced(fields[i].write(gpu), fields[i].unit, gpu.origins.at(i));
  }
  const Json json = {{"schema", std::string(schema_name)},
                     {"name", gpu.name},
                     {"display_name", gpu.display_name},
                     {"aliases", gpu.aliases},
                     {"values", values}};
  return json.dump(2) + "\n";
}

std::string gpu_file_text(const Json& json) { return indented(json, "") + "\n"; }

std::string gpu_template() {
  Json values = Json::object();
  for (const Field<GpuArch>& f : gpu_fields()) {
    Provenance origin;
    origin.source = f.doc;
    values[f.name] = write_sourced(nullptr, f.unit, origin);
  }
  const Json json = {{"schema", std::string(schema_name)},
                     {"name", "file name without .json"},
                     {"display_name", "name in reports"},
                     {"aliases", Json::array()},
                     {"values", values}};
  return json.dump(2) + "\n";
}

std::string describe(const GpuArch& gpu) {
  std::string text = fmt::format("{} ({})\n", gpu.name, gpu.display_name);
  const auto fields = gpu_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Provenance& from = gpu.origins.at(i);
    text += fmt::format("{:26} {:>14} {:10} {:9} {}\n", fields[i].name, fields[i].write(gpu).dump(),
                        fields[i].unit, to_string(from.kind), from.source);
  }
  return text;
}

}  // namespace tandem
