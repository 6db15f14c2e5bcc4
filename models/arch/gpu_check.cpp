// Contradictions between the values of one GPU.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/arch/gpu_config.h"
#include "models/arch/gpu_fields.h"
#include "sim/core/fields/field.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

struct Rule {
  bool holds;
  std::string_view key;
  std::string found;
  std::string_view expected;
};

std::vector<Rule> chip_rules(const GpuArch& g) {
  const auto sum =
      std::accumulate(g.cluster_group_sms.begin(), g.cluster_group_sms.end(), std::int64_t{0});
  return {
      {g.tpc_count <= g.sm_count, "tpc_count", std::to_string(g.tpc_count), "at most sm_count"},
      {g.gpc_count <= g.tpc_count, "gpc_count", std::to_string(g.gpc_count), "at most tpc_count"},
      {sum == g.sm_count, "cluster_group_sms", fmt::format("a sum of {}", sum),
       "a sum of sm_count"},
      {g.min_clock_mhz <= g.boost_clock_mhz, "min_clock_mhz", fmt::format("{}", g.min_clock_mhz),
       "at most boost_clock_mhz"},
      {g.base_clock_mhz <= g.boost_clock_mhz, "base_clock_mhz", fmt::format("{}", g.base_clock_mhz),
       "at most boost_clock_mhz"},
      {g.tensor_clock_mhz <= g.boost_clock_mhz, "tensor_clock_mhz",
       fmt::format("{}", g.tensor_clock_mhz), "at most boost_clock_mhz"},
      {g.dram_read_gbps <= g.dram_peak_gbps, "dram_read_gbps", fmt::format("{}", g.dram_read_gbps),
       "at most dram_peak_gbps"},
      {g.dram_copy_gbps <= g.dram_peak_gbps, "dram_copy_gbps", fmt::format("{}", g.dram_copy_gbps),
       "at most dram_peak_gbps"},
      {g.pcie_copy_gbps <= g.pcie_peak_gbps, "pcie_copy_gbps", fmt::format("{}", g.pcie_copy_gbps),
       "at most pcie_peak_gbps"},
      {g.l2_fabric_factor >= 1, "l2_fabric_factor", fmt::format("{}", g.l2_fabric_factor),
       "at least 1"},
      {g.l2_dirty_bytes <= g.l2_bytes, "l2_dirty_bytes", std::to_string(g.l2_dirty_bytes),
       "at most l2_bytes"},
      {g.nvlink_gbps <= 0 || g.nvlink_gpus >= 2, "nvlink_gpus", std::to_string(g.nvlink_gpus),
       "at least 2, for nvlink_gbps states a rate between GPUs"},
      {g.idle_w <= g.tdp_w, "idle_w", fmt::format("{}", g.idle_w), "at most tdp_w"},
  };
}

// What no GPU that the models know differs in.
constexpr int sub_partitions = 4;

std::vector<Rule> sm_rules(const GpuArch& g) {
  const auto& carveouts = g.shared_carveouts_bytes;
  return {
      {std::is_sorted(carveouts.begin(), carveouts.end(), std::less_equal<>()),
       "shared_carveouts_bytes", "sizes out of order", "ascending sizes"},
      {max_shared_bytes(g) <= g.unified_l1_bytes, "shared_carveouts_bytes",
       std::to_string(max_shared_bytes(g)), "at most unified_l1_bytes"},
      {g.shared_block_bytes <= g.shared_block_optin_bytes, "shared_block_bytes",
       std::to_string(g.shared_block_bytes), "at most shared_block_optin_bytes"},
      {g.shared_block_optin_bytes + g.shared_reserved_bytes <= max_shared_bytes(g),
       "shared_block_optin_bytes", std::to_string(g.shared_block_optin_bytes),
       "with shared_reserved_bytes at most the largest carve-out"},
      {g.warp_size == lanes_per_warp, "warp_size", std::to_string(g.warp_size),
       "32, which all models count by"},
      {g.smsp_per_sm == sub_partitions, "smsp_per_sm", std::to_string(g.smsp_per_sm),
       "4, as in every GPU since compute capability 5"},
      {g.max_threads_per_sm % g.warp_size == 0, "max_threads_per_sm",
       std::to_string(g.max_threads_per_sm), "a multiple of warp_size"},
      {g.max_threads_per_block <= g.max_threads_per_sm, "max_threads_per_block",
       std::to_string(g.max_threads_per_block), "at most max_threads_per_sm"},
      {g.registers_per_sm % g.smsp_per_sm == 0, "registers_per_sm",
       std::to_string(g.registers_per_sm), "a multiple of smsp_per_sm"},
      {g.max_registers_per_block <= g.registers_per_sm, "max_registers_per_block",
       std::to_string(g.max_registers_per_block), "at most registers_per_sm"},
  };
}

/// Rates, sizes and times of a GPU beyond these are slips of the pen: no law holds there.
constexpr double least = 1e-3;
constexpr double most = 1e13;
/// Nor is there a chip with a million of anything but bytes.
constexpr double most_counted = 1 << 20;

}  // namespace

void check_gpu_sizes(const GpuArch& gpu, const std::string& file) {
  for (const Field<GpuArch>& f : gpu_fields()) {
    const Json value = f.write(gpu);
    if (!value.is_number()) continue;
    const auto number = value.get<double>();
    const double limit = value.is_number_integer() && f.unit != "B" ? most_counted : most;
    if (number == 0 || (number >= least && number <= limit)) continue;
    throw InputError(file, f.name, fmt::format("{} {}", number, f.unit),
                     fmt::format("0, or {} to {} {}", least, limit, f.unit));
  }
}

void check_gpu(const GpuArch& gpu, const std::string& file) {
  check_gpu_sizes(gpu, file);
  for (const auto& rules : {chip_rules(gpu), sm_rules(gpu)}) {
    for (const Rule& rule : rules) {
      if (!rule.holds) throw InputError(file, rule.key, rule.found, rule.expected);
    }
  }
}

}  // namespace tandem
