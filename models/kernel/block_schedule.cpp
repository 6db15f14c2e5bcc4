#include "models/kernel/block_schedule.h"

#include <algorithm>
#include <queue>
#include <string>

#include "sim/core/error.h"

namespace tandem {

namespace {

constexpr int bisections = 40;

/// A place for a block. Earlier free first; of equally free ones the emptiest level of the lowest
/// SM, which fills the device breadth first.
struct Place {
  double free_us = 0;
  std::uint16_t slot = 0;
  std::uint16_t sm = 0;
  bool operator>(const Place& other) const {
    if (free_us != other.free_us) return free_us > other.free_us;
    return slot != other.slot ? slot > other.slot : sm > other.sm;
  }
};

using Places = std::priority_queue<Place, std::vector<Place>, std::greater<>>;

Places free_places(const GpuArch& gpu, int blocks_per_sm) {
  std::vector<Place> all;
  all.reserve(static_cast<std::size_t>(gpu.sm_count) * static_cast<std::size_t>(blocks_per_sm));
  for (int slot = 0; slot < blocks_per_sm; ++slot) {
    for (int sm = 0; sm < gpu.sm_count; ++sm) {
      all.push_back({0, static_cast<std::uint16_t>(slot), static_cast<std::uint16_t>(sm)});
    }
  }
  return Places(std::greater<>(), std::move(all));
}

/// Runs the grid with blocks of a given life; the end of the last one. `out`: may be null.
double run_grid(const GpuArch& gpu, std::int64_t blocks, int blocks_per_sm, double life_us,
                double dispatch_us, std::vector<BlockRun>* out) {
  Places places = free_places(gpu, blocks_per_sm);
  double end = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    Place place = places.top();
    places.pop();
    const double begin = std::max(place.free_us, static_cast<double>(b) * dispatch_us);
    place.free_us = begin + life_us;
    end = std::max(end, place.free_us);
    if (out != nullptr) {
      out->push_back({static_cast<std::uint32_t>(b), place.sm, place.slot, begin, place.free_us});
    }
    places.push(place);
  }
  return end;
}

/// Share of an SM's sub-partitions that hold a warp of `warps` resident ones.
double partitions_used(const GpuArch& gpu, int warps) {
  return std::min(1.0, static_cast<double>(warps) / gpu.smsp_per_sm);
}

void add_activity(const GpuArch& gpu, BlockSchedule& s) {
  struct Edge {
    double at;
    int change;
  };
  std::vector<std::vector<Edge>> edges(static_cast<std::size_t>(gpu.sm_count));
  for (const BlockRun& b : s.blocks) {
    edges[b.sm].push_back({b.begin_us, +1});
    edges[b.sm].push_back({b.end_us, -1});
  }
  double active = 0;
  double partitions = 0;
  double warps = 0;
  s.sm_active_us.assign(edges.size(), 0);
  for (std::size_t sm = 0; sm < edges.size(); ++sm) {
    std::sort(edges[sm].begin(), edges[sm].end(), [](const Edge& a, const Edge& b) {
      return a.at != b.at ? a.at < b.at : a.change < b.change;
    });
    int resident = 0;
    double last = 0;
    for (const Edge& e : edges[sm]) {
      const double span = e.at - last;
      const int held = resident * s.occupancy.warps_per_block;
      if (resident > 0) s.sm_active_us[sm] += span;
      partitions += span * partitions_used(gpu, held);
      warps += span * held;
      resident += e.change;
      last = e.at;
    }
    active += s.sm_active_us[sm];
  }
  const double whole = s.duration_us * gpu.sm_count;
  s.sm_active_share = active / whole;
  s.smsp_active_share = partitions / whole;
  s.achieved_occupancy = active > 0 ? warps / (active * max_warps_per_sm(gpu)) : 0;
}

void check(const BlockSchedule& s, std::int64_t most_blocks) {
  if (s.occupancy.blocks_per_sm == 0) {
    throw InputError("launch", "grid", "a block that no SM of the GPU can hold",
                     "threads, registers and shared memory within the limits");
  }
  if (s.waves.blocks > most_blocks) {
    throw InputError("launch", "grid", std::to_string(s.waves.blocks) + " blocks",
                     "at most " + std::to_string(most_blocks) + " for a timeline of every block");
  }
}

}  // namespace

BlockSchedule schedule_blocks(const GpuArch& gpu, const LaunchGeometry& geometry,
                              double duration_us, double dispatch_cycles,
                              std::int64_t most_blocks) {
  BlockSchedule s;
  s.occupancy = occupancy(gpu, geometry);
  s.waves = waves(gpu, geometry, s.occupancy);
  s.duration_us = duration_us;
  check(s, most_blocks);
  const int per_sm = s.occupancy.blocks_per_sm;
  // Handing out blocks may take no more than half of a kernel that was seen to end.
  const double dispatch =
      std::min(dispatch_cycles / gpu.boost_clock_mhz,
               duration_us / 2 / static_cast<double>(std::max<std::int64_t>(1, s.waves.blocks)));
  double low = 0;
  double high = duration_us;
  for (int i = 0; i < bisections; ++i) {
    const double middle = (low + high) / 2;
    const double end = run_grid(gpu, s.waves.blocks, per_sm, middle, dispatch, nullptr);
    (end > duration_us ? high : low) = middle;
    if (high - low < 1e-6 * duration_us) break;
  }
  s.block_us = low;
  s.blocks.reserve(static_cast<std::size_t>(s.waves.blocks));
  run_grid(gpu, s.waves.blocks, per_sm, s.block_us, dispatch, &s.blocks);
  std::stable_sort(s.blocks.begin(), s.blocks.end(),
                   [](const BlockRun& a, const BlockRun& b) { return a.begin_us < b.begin_us; });
  add_activity(gpu, s);
  return s;
}

}  // namespace tandem
