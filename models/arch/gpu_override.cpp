#include <fmt/format.h>

#include "models/arch/gpu_config.h"
#include "models/arch/gpu_dependents.h"
#include "models/arch/gpu_fields.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr std::string_view prefix = "gpu.";
constexpr char file_name[] = "override";

// "6000 GB/s" -> "6000" if the unit is the field's own.
std::string_view without_unit(std::string_view value, const Field<GpuArch>& f, const Place& place) {
  const bool is_text = f.unit == "name";
  const std::size_t space = value.rfind(' ');
  if (is_text || space == std::string_view::npos || value.back() == ']') return value;
  const std::string_view unit = value.substr(space + 1);
  if (unit != f.unit) place.fail(fmt::format("unit \"{}\"", unit), f.unit);
  return value.substr(0, space);
}

// Numbers and lists are JSON; whatever else was written is a text.
Json parse_value(std::string_view text) {
  if (!Json::accept(text)) return Json(std::string(text));
  return parse_json(text, file_name);
}

/// Sets one value; its name is returned.
std::string set_value(GpuArch& gpu, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with(prefix) || equals == std::string::npos) {
    throw InputError(file_name, "", fmt::format("\"{}\"", text), "gpu.KEY=VALUE");
  }
  const Place place{file_name, text.substr(0, equals)};
  const auto fields = gpu_fields();
  const auto name = std::string_view(text).substr(prefix.size(), equals - prefix.size());
  const Field<GpuArch>& f = find_field(fields, name, place);
  const auto value = without_unit(std::string_view(text).substr(equals + 1), f, place);
  f.read(gpu, parse_value(value), place);
  const auto i = static_cast<std::size_t>(&f - fields.data());
  gpu.origins.at(i) = {ValueKind::spec, "override: " + text, "", 0.0, true};
  return f.name;
}

}  // namespace

void apply_overrides(GpuArch& gpu, std::span<const std::string> overrides) {
  GpuArch changed = gpu;
  std::vector<std::string> set;
  for (const std::string& text : overrides) set.push_back(set_value(changed, text));
  check_gpu_sizes(changed, file_name);
  scale_dependents(gpu, set, changed);
  check_gpu(changed, file_name);
  gpu = std::move(changed);
}

}  // namespace tandem
