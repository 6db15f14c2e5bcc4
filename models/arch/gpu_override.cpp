#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/arch/gpu_config.h"
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

/// A value that goes with another one: 160 SMs have more groups of SMs than 132.
struct Dependent {
  std::string_view name;
  std::string_view leader;
  double GpuArch::*member;
  double GpuArch::*leading;
};
constexpr Dependent dependents[] = {
    {"dram_read_gbps", "dram_peak_gbps", &GpuArch::dram_read_gbps, &GpuArch::dram_peak_gbps},
    {"dram_copy_gbps", "dram_peak_gbps", &GpuArch::dram_copy_gbps, &GpuArch::dram_peak_gbps},
    {"tensor_clock_mhz", "boost_clock_mhz", &GpuArch::tensor_clock_mhz, &GpuArch::boost_clock_mhz},
    {"pcie_copy_gbps", "pcie_peak_gbps", &GpuArch::pcie_copy_gbps, &GpuArch::pcie_peak_gbps},
};

/// Scales the groups to a sum of `sms`; the first ones take what rounding leaves.
void scale_groups(std::vector<std::int64_t>& groups, std::int64_t sms) {
  const auto before = std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
  if (before == 0) return;
  std::int64_t left = sms;
  for (std::int64_t& group : groups) left -= group = group * sms / before;
  for (std::size_t i = 0; left > 0 && i < groups.size(); ++i, --left) ++groups[i];
}

/// What nobody set follows its leader in proportion.
void scale_dependents(const GpuArch& before, const std::vector<std::string>& set, GpuArch& gpu) {
  const auto was_set = [&](std::string_view name) {
    return std::find(set.begin(), set.end(), name) != set.end();
  };
  for (const Dependent& d : dependents) {
    if (!was_set(d.leader) || was_set(d.name)) continue;
    gpu.*d.member = before.*d.member * (gpu.*d.leading / (before.*d.leading));
  }
  if (was_set("boost_clock_mhz") && !was_set("base_clock_mhz")) {
    gpu.base_clock_mhz = std::min(gpu.base_clock_mhz, gpu.boost_clock_mhz);
  }
  if (was_set("boost_clock_mhz") && !was_set("min_clock_mhz")) {
    gpu.min_clock_mhz = std::min(gpu.min_clock_mhz, gpu.boost_clock_mhz);
  }
  if (was_set("l2_bytes") && !was_set("l2_dirty_bytes")) {
    gpu.l2_dirty_bytes = static_cast<std::int64_t>(static_cast<double>(before.l2_dirty_bytes) *
                                                   static_cast<double>(gpu.l2_bytes) /
                                                   static_cast<double>(before.l2_bytes));
  }
  if (!was_set("sm_count")) return;
  if (!was_set("cluster_group_sms")) scale_groups(gpu.cluster_group_sms, gpu.sm_count);
  if (!was_set("tpc_count")) {
    const std::int64_t tpcs = std::int64_t{before.tpc_count} * gpu.sm_count / before.sm_count;
    gpu.tpc_count = static_cast<int>(std::max<std::int64_t>(1, tpcs));
  }
  if (!was_set("gpc_count")) gpu.gpc_count = std::min(gpu.gpc_count, gpu.tpc_count);
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

void apply_override(GpuArch& gpu, const std::string& override_text) {
  apply_overrides(gpu, {&override_text, 1});
}

}  // namespace tandem
