// The counters tandem reads from Nsight Compute, and under which names versions write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tandem {

/// Sums over the device unless said otherwise. The order is that of counter_infos().
enum class Counter : std::uint8_t {
  duration_ns,
  smsp_elapsed_cycles,
  smsp_active_cycles,
  smsp_issue_cycles,
  instructions,
  tc_active_cycles,
  tc_issue_cycles,
  tc_gmma_instructions,
  warp_active_cycles,
  l1_sectors,
  l2_sectors,
  l2_tex_sectors,
  dram_read_sectors,
  dram_write_sectors,
  shared_wavefronts,
  registers_per_thread,
  shared_static_bytes,
  shared_dynamic_bytes,
  shared_driver_bytes,
  occupancy_limit_blocks,
  occupancy_limit_registers,
  occupancy_limit_shared_mem,
  occupancy_limit_warps,
  waves_per_sm,
  sm_count,
  grid_x,
  grid_y,
  grid_z,
  grid_size,
  block_x,
  block_y,
  block_z,
  block_size,
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::block_size) + 1;

/// What the unit of a metric is scaled to: nanoseconds, bytes, or nothing but K, M, G.
enum class Quantity : std::uint8_t { time, bytes, count };

/// How a metric's value becomes the counter's.
enum class Scale : std::uint8_t {
  one,
  per_sm,           // an average over SMs: times the number of SMs
  per_smsp,         // an average over SM sub-partitions: times four a SM
  bytes_to_sectors  // 32 bytes each
};

struct CounterInfo {
  Counter counter;
  std::string_view name;  // in our tables and results
  std::string_view unit;
  std::string_view description;
  bool launch;  // describes the launch and not what it cost
};
std::span<const CounterInfo> counter_infos();
std::string_view name_of(Counter counter);

/// A metric as some version or page of Nsight Compute calls it.
struct MetricName {
  std::string_view metric;
  Counter counter;
  Quantity quantity;
  Scale scale = Scale::one;
};

/// All known metrics; for each counter the best source stands first.
std::span<const MetricName> metric_names();

}  // namespace tandem
