#include "models/kernel/tiny_launch/tiny_launch.h"

#include <algorithm>

#include "models/arch/occupancy.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

// A launch in the units of the model.
struct Launch {
  double blocks = 0;
  double warps = 0;     // of a block; also the lines it stores
  double resident = 0;  // blocks that an SM holds
  double sms = 0;
  bool whole_lines = false;  // a block of less than a warp stores part of a line

  double first_wave() const { return std::min(blocks, resident * sms); }
};

// What becomes of a launch, in cycles from the start of its first block.
struct Progress {
  double active = 0;          // an SM has a block
  double end = 0;             // the last store has arrived
  double stalled = 0;         // of `active`: blocks wait for the store queue
  double stalled_blocks = 0;  // that come and go meanwhile
  double fill = 0;            // share of the resident limit that is full meanwhile
};

Launch launch_of(const GpuArch& gpu, const LaunchGeometry& geometry) {
  const Occupancy held = occupancy(gpu, geometry);
  if (held.blocks_per_sm == 0) {
    throw InputError("launch", "block", "a block that no SM can hold",
                     "one within the limits: " + limiter_names(held));
  }
  const auto volume = [](const std::array<std::uint32_t, 3>& d) {
    return static_cast<double>(d[0]) * d[1] * d[2];
  };
  return {volume(geometry.grid), static_cast<double>(held.warps_per_block),
          static_cast<double>(held.blocks_per_sm), static_cast<double>(gpu.sm_count),
          volume(geometry.block) >= gpu.warp_size};
}

double cold_life(const Launch& launch, const TinyConstants& c) {
  return c.cold_life_cycles + c.cold_life_warp_cycles * launch.warps;
}

double warm_life(const Launch& launch, const TinyConstants& c) {
  return c.warm_life_cycles + c.warm_life_warp_cycles * launch.warps;
}

// Cycles between two block starts of the device once it is full.
double block_period(const Launch& launch, const TinyConstants& c) {
  return std::max(c.device_block_cycles, c.sm_warp_cycles * launch.warps / launch.sms);
}

// Cycles that SMs are active for the whole launch, were there no stores.
double active_cycles(const Launch& launch, const TinyConstants& c) {
  const double cold = cold_life(launch, c);
  if (launch.blocks <= launch.sms) return cold;
  // While an SM fills, its blocks start one right after the other. A later block adds its whole
  // life where blocks come one at a time, and again only its start where they come in bursts.
  const double start = (c.sm_block_cycles + c.sm_block_warp_cycles * launch.warps) / launch.sms;
  const double alone = warm_life(launch, c) / launch.sms;
  const double added =
      std::clamp(c.overlap * start + (1 - c.overlap) * alone,
                 c.sm_warp_cycles * launch.warps / launch.sms, block_period(launch, c));
  const double wave = launch.first_wave();
  return std::max(cold, wave * start + warm_life(launch, c)) + (launch.blocks - wave) * added;
}

Progress without_stores(const Launch& launch, const TinyConstants& c) {
  const double active = active_cycles(launch, c);
  return {.active = active, .end = std::max(active, launch.blocks * block_period(launch, c))};
}

// More lines than an SM can merge: every store is a request of its own. Once the queue is full, a
// block starts when another's stores have left; blocks leave in turn, on average half of one gone.
Progress never_merging(const Launch& launch, double stores, double cycles_each, double queue,
                       const TinyConstants& c) {
  Progress p = without_stores(launch, c);
  const double cold = cold_life(launch, c);
  p.active = std::max(p.active, cold + (stores - queue) * cycles_each);
  p.stalled = p.active - cold;
  p.stalled_blocks = launch.blocks - launch.first_wave();
  p.fill = (launch.resident - 0.5) / launch.resident;
  p.end = std::max({p.end, p.active, stores * cycles_each});
  return p;
}

// Once the queue is full, new stores merge with waiting ones and cost nothing, but the wait holds
// SMs busy, and full of blocks when it has lasted as long as the queue takes.
Progress merging(const Launch& launch, double merged, double cycles_each, double queue,
                 const TinyConstants& c) {
  Progress p = without_stores(launch, c);
  const double period = block_period(launch, c);
  const double stores = (launch.blocks - merged) * launch.warps;
  const double full_at = merged + queue / launch.warps;  // blocks
  const double beyond = std::max(0.0, launch.blocks - full_at) * period;
  p.end = std::max(p.end, std::min(stores, queue) * cycles_each + beyond);
  if (!launch.whole_lines) return p;
  p.active = std::max(p.active, beyond);
  p.stalled = std::max(0.0, beyond - queue * cycles_each);
  p.stalled_blocks = p.stalled / period;
  p.fill = c.stall_fill;
  return p;
}

Progress with_shared_lines(const Launch& launch, const TinyConstants& c) {
  const double cycles_each = 1 / (c.request_rate + c.request_rate_line * launch.warps);
  const double queue = c.queue_stores * launch.sms;
  if (launch.warps > c.merge_lines) {
    return never_merging(launch, launch.blocks * launch.warps, cycles_each, queue, c);
  }
  // Blocks of few lines that are resident at the start store as one block an SM.
  const double merged =
      launch.warps <= c.first_merge_lines ? std::max(0.0, launch.first_wave() - launch.sms) : 0.0;
  return merging(launch, merged, cycles_each, queue, c);
}

// Resident warps summed over the cycles of the launch, mean over the SMs.
double warp_cycles(const Launch& launch, const Progress& p, const TinyConstants& c) {
  const double limit = launch.resident * launch.warps;
  const double wave = launch.first_wave();
  const double later = std::max(0.0, launch.blocks - p.stalled_blocks - wave);
  const double lives = wave * cold_life(launch, c) + later * warm_life(launch, c);
  return std::min(lives * launch.warps / launch.sms, (p.active - p.stalled) * limit) +
         p.stalled * p.fill * limit;
}

}  // namespace

TinyLaunchCost back_to_back(const GpuArch& gpu, const LaunchGeometry& geometry, StoreTarget stores,
                            const TinyConstants& constants) {
  const Launch launch = launch_of(gpu, geometry);
  const Progress p = stores == StoreTarget::same_lines ? with_shared_lines(launch, constants)
                                                       : without_stores(launch, constants);
  const double clock = gpu.boost_clock_mhz;  // cycles a microsecond
  const double used_sms = std::min(1.0, launch.blocks / launch.sms);
  TinyLaunchCost cost;
  cost.engine_us = constants.gap_us + constants.spread_us * used_sms + p.end / clock;
  cost.period_us = std::max(constants.host_period_us, cost.engine_us);
  cost.sm_active_cycles = p.active * used_sms;
  cost.warp_active_cycles = warp_cycles(launch, p, constants);
  const double period = cost.period_us * clock;
  cost.gract = cost.engine_us / cost.period_us;
  cost.smact = cost.sm_active_cycles / period;
  cost.smocc = cost.warp_active_cycles / (max_warps_per_sm(gpu) * period);
  return cost;
}

}  // namespace tandem
