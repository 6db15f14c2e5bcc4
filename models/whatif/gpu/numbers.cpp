#include "models/whatif/gpu/numbers.h"

#include <algorithm>

#include "sim/core/error.h"

namespace tandem {

namespace {

constexpr std::string_view no_mix =
    "how many instructions of a library kernel use this pipe is not known; fp32_lanes and the "
    "tensor_*_fma_per_clk move products, boost_clock_mhz all";
constexpr std::string_view unloaded =
    "a latency of an idle GPU, read by micro-benchmarks; under load kernels follow "
    "dram_loaded_latency_ns and l2_latency_cycles";

constexpr UnusedNumber table[] = {
    {"compute_minor", "", "generations are told apart by compute_major"},
    {"gpc_count", "sm_count", "kernels spread over SMs, whatever groups these form"},
    {"tpc_count", "sm_count", "kernels spread over SMs, whatever groups these form"},
    {"cluster_group_sms", "sm_count", "a trace does not say which launches have clusters"},
    {"max_cluster_blocks", "", "a trace does not say which launches have clusters"},
    {"base_clock_mhz", "boost_clock_mhz", "kernels run at boost_clock_mhz or --clock"},
    {"dram_copy_gbps", "dram_peak_gbps", "copies on the device follow dram_read_gbps"},
    {"shared_block_bytes", "", "what a trace shows to have run may use shared_block_optin_bytes"},
    {"int32_lanes", "", no_mix},
    {"fp16_lanes", "", no_mix},
    {"xu_lanes", "", no_mix},
    {"lsu_lanes", "", no_mix},
    {"fp32_latency_cycles", "", unloaded},
    {"fp64_latency_cycles", "", unloaded},
    {"xu_latency_cycles", "", unloaded},
    {"tensor_latency_cycles", "", unloaded},
    {"shared_latency_cycles", "", unloaded},
    {"l1_latency_cycles", "", unloaded},
    {"l2_far_latency_cycles", "", unloaded},
    {"dram_latency_cycles", "", unloaded},
    {"stream_kernel_period_us", "", "kernels of a stream follow kernel_gap_us"},
    {"idle_w", "tdp_w", "the energy of a step has a static power of its own (energy.trace)"},
};

std::string_view key_of(std::string_view text) {
  constexpr std::string_view prefix = "gpu.";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text.substr(0, text.find('='));
}

}  // namespace

std::span<const UnusedNumber> unused_numbers() { return table; }

void require_used(std::span<const std::string> overrides) {
  const auto states = [&](std::string_view name) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const std::string& text) { return key_of(text) == name; });
  };
  for (const std::string& text : overrides) {
    const auto row = std::find_if(std::begin(table), std::end(table),
                                  [&](const UnusedNumber& n) { return n.name == key_of(text); });
    if (row == std::end(table) || (!row->beside.empty() && states(row->beside))) continue;
    throw InputError("command line", "--set", text,
                     "a number that moves a step; this one moves none: " + std::string(row->why));
  }
}

}  // namespace tandem
