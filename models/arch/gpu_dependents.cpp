#include "models/arch/gpu_dependents.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace tandem {
namespace {

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

}  // namespace

void scale_dependents(const GpuArch& before, std::span<const std::string> set, GpuArch& gpu) {
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

}  // namespace tandem
