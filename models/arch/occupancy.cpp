#include "models/arch/occupancy.h"

#include <algorithm>

namespace tandem {
namespace {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// A limit that is too large to matter is no_limit.
int to_limit(std::int64_t n) { return static_cast<int>(std::min<std::int64_t>(n, no_limit)); }

// Three dimensions of 2^32 - 1 would overflow; no GPU comes near what is cut off here.
std::int64_t volume(const std::array<std::uint32_t, 3>& dims) {
  const std::uint64_t area = std::uint64_t{dims[0]} * dims[1];
  return static_cast<std::int64_t>(std::min(area, std::uint64_t{1} << 31) * dims[2]);
}

// The smallest carve-out of at least `bytes`; the largest if none is.
std::int64_t carveout_for(const GpuArch& gpu, std::int64_t bytes) {
  const auto& sizes = gpu.shared_carveouts_bytes;
  const auto it = std::lower_bound(sizes.begin(), sizes.end(), bytes);
  return it == sizes.end() ? sizes.back() : *it;
}

// Registers are given to whole warps of one sub-partition, so what is left over in one of them
// cannot be used by the others. The launch check rounds the block up to all sub-partitions.
int register_limit(const GpuArch& gpu, std::int64_t registers, std::int64_t warps) {
  if (registers > gpu.max_registers_per_thread) return 0;
  const std::int64_t per_warp = round_up(registers * gpu.warp_size, gpu.register_granularity);
  if (per_warp == 0) return no_limit;
  if (per_warp * round_up(warps, gpu.smsp_per_sm) > gpu.max_registers_per_block) return 0;
  const std::int64_t warps_per_smsp = gpu.registers_per_sm / gpu.smsp_per_sm / per_warp;
  return to_limit(warps_per_smsp * gpu.smsp_per_sm / warps);
}

int shared_limit(const GpuArch& gpu, const OccupancyOptions& options, Occupancy& out) {
  const std::int64_t per_block = out.shared_allocated_bytes;
  const std::int64_t largest =
      options.shared_opt_in ? gpu.shared_block_optin_bytes : gpu.shared_block_bytes;
  const std::int64_t preferred = options.carveout_percent < 0
                                     ? max_shared_bytes(gpu)
                                     : options.carveout_percent * max_shared_bytes(gpu) / 100;
  // A preference too small for one block is ignored.
  out.carveout_bytes = carveout_for(gpu, std::max(carveout_for(gpu, preferred), per_block));
  if (per_block > largest + gpu.shared_reserved_bytes) return 0;
  return per_block == 0 ? no_limit : to_limit(out.carveout_bytes / per_block);
}

std::uint8_t limiters_at(const Occupancy& o, int minimum) {
  int bits = 0;
  const auto add = [&](int limit, Limiter limiter) {
    if (limit == minimum) bits |= static_cast<int>(limiter);
  };
  add(o.limit_warps, Limiter::warps);
  add(o.limit_registers, Limiter::registers);
  add(o.limit_shared, Limiter::shared);
  add(o.limit_blocks, Limiter::blocks);
  add(o.limit_barriers, Limiter::barriers);
  return static_cast<std::uint8_t>(bits);
}

}  // namespace

Occupancy occupancy(const GpuArch& gpu, const LaunchGeometry& launch,
                    const OccupancyOptions& options) {
  Occupancy out;
  const std::int64_t threads = volume(launch.block);
  if (threads == 0) return out;
  const std::int64_t warps = (threads - 1) / gpu.warp_size + 1;
  const bool block_fits = threads <= gpu.max_threads_per_block;
  out.warps_per_block = to_limit(warps);
  out.shared_allocated_bytes = round_up(
      std::int64_t{launch.shared_bytes} + gpu.shared_reserved_bytes, gpu.shared_granularity_bytes);

  out.limit_warps = block_fits ? to_limit(max_warps_per_sm(gpu) / warps) : 0;
  out.limit_registers = register_limit(gpu, launch.registers_per_thread, warps);
  out.limit_shared = shared_limit(gpu, options, out);
  out.limit_blocks = gpu.max_blocks_per_sm;
  const bool barriers_count = gpu.barriers_per_sm > 0 && options.barriers_per_block > 0;
  out.limit_barriers = barriers_count ? gpu.barriers_per_sm / options.barriers_per_block : no_limit;

  const int minimum = std::min({out.limit_warps, out.limit_registers, out.limit_shared,
                                out.limit_blocks, out.limit_barriers});
  out.limiters = limiters_at(out, minimum);
  if (options.cluster_blocks > gpu.max_cluster_blocks) {
    out.limiters = static_cast<std::uint8_t>(Limiter::cluster);
    return out;
  }
  out.blocks_per_sm = minimum;
  out.active_warps = minimum * out.warps_per_block;
  out.theoretical = static_cast<double>(out.active_warps) / max_warps_per_sm(gpu);
  return out;
}

std::string limiter_names(const Occupancy& occupancy) {
  struct Name {
    Limiter limiter;
    const char* text;
  };
  constexpr Name names[] = {{Limiter::warps, "warps"},       {Limiter::registers, "registers"},
                            {Limiter::shared, "shared"},     {Limiter::blocks, "blocks"},
                            {Limiter::barriers, "barriers"}, {Limiter::cluster, "cluster"}};
  std::string text;
  for (const Name& name : names) {
    if (!occupancy.limited_by(name.limiter)) continue;
    if (!text.empty()) text += ", ";
    text += name.text;
  }
  return text;
}

int max_active_clusters(const GpuArch& gpu, const Occupancy& occupancy, int cluster_blocks) {
  if (cluster_blocks <= 0 || cluster_blocks > gpu.max_cluster_blocks) return 0;
  std::int64_t clusters = 0;
  for (const std::int64_t sms : gpu.cluster_group_sms) {
    if (sms >= cluster_blocks) clusters += sms * occupancy.blocks_per_sm / cluster_blocks;
  }
  return to_limit(clusters);
}

Waves waves(const GpuArch& gpu, const LaunchGeometry& launch, const Occupancy& occupancy) {
  Waves out;
  out.blocks = volume(launch.grid);
  out.blocks_per_wave = std::int64_t{gpu.sm_count} * occupancy.blocks_per_sm;
  if (out.blocks_per_wave == 0) return out;
  out.full = out.blocks / out.blocks_per_wave;
  out.tail_blocks = out.blocks % out.blocks_per_wave;
  out.count = static_cast<double>(out.blocks) / static_cast<double>(out.blocks_per_wave);
  return out;
}

std::int64_t driver_carveout_bytes(const GpuArch& gpu, const LaunchGeometry& launch,
                                   const Occupancy& occupancy) {
  const std::int64_t per_block = occupancy.shared_allocated_bytes;
  const auto for_blocks = [&](std::int64_t blocks) {
    return carveout_for(gpu, per_block * std::min<std::int64_t>(blocks, gpu.max_blocks_per_sm));
  };
  // A kernel without shared memory of its own gets room for four times the blocks that its warps
  // allow; any other gets room for twice its blocks, but not beyond 62 % of the SM's shared memory
  // unless its blocks need it.
  if (launch.shared_bytes == 0) return for_blocks(4LL * occupancy.limit_warps);
  const auto& sizes = gpu.shared_carveouts_bytes;
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), max_shared_bytes(gpu) * 62 / 100);
  const std::int64_t generous = above == sizes.begin() ? sizes.front() : *(above - 1);
  return std::max(for_blocks(occupancy.blocks_per_sm),
                  std::min(for_blocks(2LL * occupancy.blocks_per_sm), generous));
}

}  // namespace tandem
