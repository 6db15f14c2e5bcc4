#include "models/kernel/counters/block_schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "sim/core/error.h"

namespace tandem {

namespace {

constexpr double rounding = 1e-12;  // relative, of times that are equal
constexpr double never = std::numeric_limits<double>::infinity();

/// What does not change between runs of one grid. Times are cycles.
struct Grid {
  std::int64_t blocks = 0;
  int sms = 0;
  int slots = 0;  // blocks that an SM holds
  double start_cycles = 0;
  double slower = 0;
  double tiles = 0;
  std::vector<double> rate;  // progress of a block by the number of blocks on its SM
};

Grid make_grid(const GpuArch& gpu, const BlockSchedule& s, const BlockPace& pace, double span) {
  const auto blocks = static_cast<double>(std::max<std::int64_t>(1, s.waves.blocks));
  Grid grid{
      s.waves.blocks, gpu.sm_count, s.occupancy.blocks_per_sm, 0, pace.slower, pace.tiles, {}};
  // Handing out blocks may take no more than half of a kernel that was seen to end.
  grid.start_cycles = std::min(pace.start_cycles, span / 2 / blocks);
  grid.rate.resize(static_cast<std::size_t>(grid.slots) + 1, 0);
  for (int n = 1; n <= grid.slots; ++n) {
    grid.rate[static_cast<std::size_t>(n)] = std::pow(n, -pace.residency_power);
  }
  return grid;
}

/// Tiles of a block: they are dealt out one by one.
double tiles_of(const Grid& grid, std::int64_t block) {
  if (grid.tiles <= 0) return 1;
  return std::max(
      0.0, std::ceil((grid.tiles - static_cast<double>(block)) / static_cast<double>(grid.blocks)));
}

/// The blocks of one SM. All advance at one rate, so each ends when `progress` reaches its goal.
struct Sm {
  struct Resident {
    double goal = 0;
    std::uint16_t slot = 0;
    std::size_t run = 0;  // index into the runs
  };
  std::vector<Resident> residents;
  double next_goal = never;         // the least of theirs
  std::vector<std::uint16_t> free;  // slots, the lowest last
  double progress = 0;
  double updated = 0;
  double speed = 1;
};

/// The SM with the least key, of equal ones the lowest: a tournament, which costs a few comparisons
/// to play again where the key of one SM changes.
class FirstSm {
 public:
  FirstSm(int sms, double key)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(sms))),
        keys_(leaves_, never),
        winners_(2 * leaves_) {
    std::fill_n(keys_.begin(), sms, key);
    for (std::size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::size_t node = leaves_; node-- > 1;) winners_[node] = winner_below(node);
  }

  int sm() const { return static_cast<int>(winners_[1]); }
  double key() const { return keys_[winners_[1]]; }

  void set(int sm, double key) {
    const auto changed = static_cast<std::size_t>(sm);
    keys_[changed] = key;
    for (std::size_t node = (leaves_ + changed) / 2; node > 0; node /= 2) {
      const std::size_t winner = winner_below(node);
      // Another one won before and still does: nothing changes above.
      if (winner == winners_[node] && winner != changed) return;
      winners_[node] = winner;
    }
  }

 private:
  std::size_t winner_below(std::size_t node) const {
    const std::size_t left = winners_[2 * node], right = winners_[2 * node + 1];
    return keys_[right] < keys_[left] ? right : left;
  }

  std::size_t leaves_;
  std::vector<double> keys_;
  std::vector<std::size_t> winners_;  // of the nodes of a binary tree, its root at 1
};

/// Runs the grid event by event.
class Device {
 public:
  explicit Device(const Grid& grid)
      : grid_(grid),
        sms_(static_cast<std::size_t>(grid.sms)),
        ends_(grid.sms, never),
        rooms_(grid.sms, -grid.slots) {
    for (int i = 0; i < grid.sms; ++i) {
      Sm& sm = at(i);
      sm.residents.reserve(static_cast<std::size_t>(grid.slots));
      sm.free.reserve(static_cast<std::size_t>(grid.slots));
      for (int slot = grid.slots; slot-- > 0;) sm.free.push_back(static_cast<std::uint16_t>(slot));
      // Spread evenly, and scattered over the SMs: numbers i * phi modulo 1 leave no gaps.
      constexpr double golden = 0.6180339887498949;
      sm.speed = 1 / (1 + grid.slower * std::fmod((i + 1) * golden, 1.0));
    }
  }

  /// The end of the last block, each with `work` cycles a tile alone on the fastest SM.
  double run(double work, std::vector<BlockRun>* out) {
    std::int64_t next = 0;
    double ready = 0;  // for the next block to start
    while (next < grid_.blocks || ends_.key() < never) {
      const double start = std::max(now_, ready);
      const bool starts = next < grid_.blocks && rooms_.key() < 0;
      // Of blocks that end together all leave before the next one looks for the emptiest SM.
      if (starts && start < ends_.key() * (1 - rounding)) {
        now_ = start;
        ready = start + grid_.start_cycles;
        place(next, work * tiles_of(grid_, next), out);
        ++next;
      } else {
        now_ = ends_.key();
        finish(ends_.sm(), out);
      }
    }
    return now_;
  }

 private:
  Sm& at(int sm) { return sms_[static_cast<std::size_t>(sm)]; }

  double rate(const Sm& sm) const { return sm.speed * grid_.rate[sm.residents.size()]; }

  void advance(Sm& sm) {
    sm.progress += (now_ - sm.updated) * rate(sm);
    sm.updated = now_;
  }

  void changed(int index) {
    const Sm& sm = at(index);
    rooms_.set(index, -static_cast<double>(sm.free.size()));
    const double left = std::max(0.0, sm.next_goal - sm.progress);
    ends_.set(index, sm.residents.empty() ? never : now_ + left / rate(sm));
  }

  void place(std::int64_t block, double work, std::vector<BlockRun>* out) {
    const int index = rooms_.sm();
    Sm& sm = at(index);
    advance(sm);
    const std::uint16_t slot = sm.free.back();
    sm.free.pop_back();
    sm.residents.push_back({sm.progress + work, slot, out != nullptr ? out->size() : 0});
    sm.next_goal = std::min(sm.next_goal, sm.residents.back().goal);
    if (out != nullptr) {
      out->push_back(
          {static_cast<std::uint32_t>(block), static_cast<std::uint16_t>(index), slot, now_, now_});
    }
    changed(index);
  }

  /// Ends all blocks of the SM that are done, with those that rounding alone keeps apart.
  void finish(int index, std::vector<BlockRun>* out) {
    Sm& sm = at(index);
    advance(sm);
    const double limit = std::max(sm.next_goal, sm.progress) * (1 + rounding);
    sm.next_goal = never;
    std::erase_if(sm.residents, [&](const Sm::Resident& r) {
      if (r.goal > limit) {
        sm.next_goal = std::min(sm.next_goal, r.goal);
        return false;
      }
      if (out != nullptr) (*out)[r.run].end_us = now_;
      sm.free.push_back(r.slot);
      return true;
    });
    std::sort(sm.free.begin(), sm.free.end(), std::greater<>());
    changed(index);
  }

  const Grid& grid_;
  std::vector<Sm> sms_;
  FirstSm ends_;   // by the next end of a block
  FirstSm rooms_;  // by free slots, the most first
  double now_ = 0;
};

/// Work a tile that makes the grid take `span`, or nearly: the caller stretches what is left. The
/// end grows almost in proportion to the work, so that a secant finds it in few steps; where blocks
/// change places it jumps, hence the bracket and the few steps.
double fitting_work(const Grid& grid, double span) {
  constexpr int most_steps = 5;
  constexpr double close = 1e-9;
  // Blocks of no work end as they start.
  double low = 0, low_end = static_cast<double>(grid.blocks - 1) * grid.start_cycles - span;
  double high = span, high_end = Device(grid).run(span, nullptr) - span;
  double work = span;
  for (int i = 0; i < most_steps && high_end > close * span; ++i) {
    work = low - low_end * (high - low) / (high_end - low_end);
    const double end = Device(grid).run(work, nullptr) - span;
    if (std::abs(end) < close * span) break;
    (end > 0 ? high : low) = work;
    (end > 0 ? high_end : low_end) = end;
    // Illinois: halve the value of the side that stays, else one side would stay for good.
    (end > 0 ? low_end : high_end) /= 2;
  }
  return work;
}

/// Share of an SM's sub-partitions that hold a warp of `warps` resident ones.
double partitions_used(const GpuArch& gpu, int warps) {
  return std::min(1.0, static_cast<double>(warps) / gpu.smsp_per_sm);
}

void add_activity(const GpuArch& gpu, double warp_share, BlockSchedule& s) {
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
      warps += span * held * warp_share;
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
  if (s.duration_us <= 0) {
    throw InputError("launch", "duration", std::to_string(s.duration_us) + " us",
                     "a kernel that takes time");
  }
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
                              double duration_us, const BlockPace& pace, std::int64_t most_blocks) {
  BlockSchedule s;
  s.occupancy = occupancy(gpu, geometry);
  s.waves = waves(gpu, geometry, s.occupancy);
  s.duration_us = duration_us;
  check(s, most_blocks);
  const double cycles = duration_us * gpu.boost_clock_mhz;
  const double span = std::min(cycles, std::max(pace.minimum_cycles, cycles - pace.launch_cycles));
  const Grid grid = make_grid(gpu, s, pace, span);
  s.blocks.reserve(static_cast<std::size_t>(s.waves.blocks));
  const double end = Device(grid).run(fitting_work(grid, span), &s.blocks);
  double lives = 0;
  for (BlockRun& b : s.blocks) {
    b.begin_us = ((cycles - span) / 2 + b.begin_us * span / end) / gpu.boost_clock_mhz;
    b.end_us = ((cycles - span) / 2 + b.end_us * span / end) / gpu.boost_clock_mhz;
    lives += b.end_us - b.begin_us;
  }
  s.block_us = s.blocks.empty() ? 0 : lives / static_cast<double>(s.blocks.size());
  add_activity(gpu, pace.warp_share, s);
  return s;
}

}  // namespace tandem
